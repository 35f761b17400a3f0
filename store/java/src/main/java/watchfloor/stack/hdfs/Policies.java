package watchfloor.stack.hdfs;

import java.io.FileNotFoundException;
import java.io.IOException;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.hdfs.DistributedFileSystem;
import org.apache.hadoop.hdfs.protocol.ErasureCodingPolicy;
import org.apache.hadoop.hdfs.protocol.ErasureCodingPolicyInfo;
import org.apache.hadoop.io.erasurecode.ECSchema;

/** HDFS's policies of erasure coding: those that a table may have, and the folders that must have none. */
final class Policies {
  /** Cells of 64 KiB, with which a look-up reads less; the published study compares it with the policies of HDFS. */
  private static final ErasureCodingPolicy SMALL_CELLS = new ErasureCodingPolicy(new ECSchema("rs", 6, 3), 64 << 10);

  private Policies() {}

  /** Enables each policy whose blocks fit on this number of DataNodes, one on each, and disables all others. */
  static void enable(DistributedFileSystem files, int datanodes) throws IOException {
    files.addErasureCodingPolicies(new ErasureCodingPolicy[] {SMALL_CELLS});
    for (ErasureCodingPolicyInfo info : files.getAllErasureCodingPolicies()) {
      ErasureCodingPolicy policy = info.getPolicy();
      boolean fits = policy.getNumDataUnits() + policy.getNumParityUnits() <= datanodes;
      if (fits && !info.isEnabled()) {
        files.enableErasureCodingPolicy(policy.getName());
      } else if (!fits && info.isEnabled()) {
        files.disableErasureCodingPolicy(policy.getName());
      }
    }
  }

  /**
   * Throws an exception if the volume or its folder of write-ahead logs is erasure-coded: a flush or sync of a coded
   * file returns without the data being anywhere but in the writer's memory.
   */
  static void requireReplication(DistributedFileSystem files, Path volume) throws IOException {
    for (Path folder : new Path[] {volume, new Path(volume, "wal")}) {
      ErasureCodingPolicy policy;
      try {
        policy = files.getErasureCodingPolicy(folder);
      } catch (FileNotFoundException e) {
        continue;
      }
      if (policy != null && !policy.isReplicationPolicy()) {
        throw new IllegalStateException(
            folder + " has the policy " + policy.getName() + ": write-ahead logs must be replicated, as HDFS neither"
                + " flushes nor syncs erasure-coded files; unset that policy, and give tables their own instead");
      }
    }
  }
}

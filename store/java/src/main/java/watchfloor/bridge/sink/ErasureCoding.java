package watchfloor.bridge.sink;

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.hdfs.DistributedFileSystem;
import org.apache.hadoop.hdfs.protocol.ErasureCodingPolicyInfo;
import watchfloor.bridge.Connection;
import watchfloor.bridge.StoreException;

/** HDFS's policies of erasure coding, as far as tables may have them. */
public final class ErasureCoding {
  private ErasureCoding() {}

  /** Throws a StoreException, which says what is missing, unless files of the store may have a policy. */
  public static void require(Connection connection, String policy) {
    String volume = BulkFiles.volume(connection);
    FileSystem files = BulkFiles.system(volume);
    if (!(files instanceof DistributedFileSystem)) {
      throw new StoreException("erasure coding needs HDFS, and the store's files are in " + volume + ": start a stack with --hdfs");
    }
    List<String> enabled = new ArrayList<>();
    String reason = "HDFS has no policy " + policy;
    try {
      for (ErasureCodingPolicyInfo info : ((DistributedFileSystem) files).getAllErasureCodingPolicies()) {
        var known = info.getPolicy();
        if (info.isEnabled()) {
          enabled.add(known.getName());
        } else if (known.getName().equals(policy)) {
          int units = known.getNumDataUnits() + known.getNumParityUnits();
          reason = "HDFS has not enabled " + policy + ", which needs " + units + " DataNodes";
        }
      }
    } catch (IOException e) {
      throw new StoreException("HDFS does not tell its policies of erasure coding: " + e.getMessage(), e);
    }
    if (!enabled.contains(policy)) {
      throw new StoreException(reason + "; tables may have " + (enabled.isEmpty() ? "none" : String.join(", ", enabled)));
    }
  }
}

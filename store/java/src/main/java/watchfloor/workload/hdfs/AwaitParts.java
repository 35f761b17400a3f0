package watchfloor.workload.hdfs;

import java.io.FileNotFoundException;
import java.io.IOException;
import java.util.Map;
import org.apache.hadoop.fs.BlockLocation;
import org.apache.hadoop.fs.LocatedFileStatus;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.RemoteIterator;
import org.apache.hadoop.hdfs.DistributedFileSystem;
import org.apache.hadoop.hdfs.protocol.ErasureCodingPolicy;
import org.apache.hadoop.hdfs.protocol.HdfsLocatedFileStatus;
import watchfloor.bridge.StoreException;
import watchfloor.workload.Job;
import watchfloor.workload.Workload;

/**
 * Waits until files lack parts, as the NameNode has noticed that DataNodes are dead, or until none does any more.
 *
 * <p>Parts are replicas, or the data and parity of coded files. Options: {@code folders} (below the instance's first
 * volume), {@code lacking} (what to wait for), {@code limit} (seconds until it is an error; 0 only counts). Record:
 * {@code seconds}, {@code missing} parts.
 */
public final class AwaitParts implements Workload {
  private static final long POLL_MILLIS = 200;

  @Override
  public void run(Job job) throws Exception {
    long began = System.nanoTime();
    long missing = -1;
    while (!job.isStopping()) {
      missing = 0;
      for (String folder : job.texts("folders")) {
        Path path = CodedFiles.path(job, folder);
        missing += count(CodedFiles.system(path), path);
      }
      if (job.number("limit") == 0 || missing > 0 == job.flag("lacking")) {
        break;
      }
      if ((System.nanoTime() - began) / 1e9 > job.number("limit")) {
        throw new StoreException("files in HDFS lack " + missing + " parts after " + job.number("limit") + " s");
      }
      job.sleep(POLL_MILLIS);
    }
    job.tell(Map.of("seconds", (System.nanoTime() - began) / 1e9, "missing", missing));
  }

  /** Returns the number of parts that the files of a folder lack. */
  private static long count(DistributedFileSystem system, Path folder) throws IOException {
    long missing = 0;
    try {
      RemoteIterator<LocatedFileStatus> files = system.listFiles(folder, true);
      while (files.hasNext()) {
        HdfsLocatedFileStatus file = (HdfsLocatedFileStatus) files.next();
        for (BlockLocation block : file.getBlockLocations()) {
          missing += Math.max(0, parts(file, block.getLength()) - block.getNames().length);
        }
      }
    } catch (FileNotFoundException e) {
      // A file was replaced by a compaction meanwhile: counted again at the next look.
      return 1;
    }
    return missing;
  }

  /** Returns the number of parts that a block, or a group of coded blocks, has when all are there. */
  private static long parts(HdfsLocatedFileStatus file, long length) {
    ErasureCodingPolicy policy = file.getErasureCodingPolicy();
    if (policy == null || policy.isReplicationPolicy()) {
      return file.getReplication();
    }
    long cells = (length + policy.getCellSize() - 1) / policy.getCellSize();
    return Math.min(cells, policy.getNumDataUnits()) + policy.getNumParityUnits();
  }
}

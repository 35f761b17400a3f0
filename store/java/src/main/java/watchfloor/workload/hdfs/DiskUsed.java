package watchfloor.workload.hdfs;

import java.util.Map;
import org.apache.hadoop.fs.Path;
import watchfloor.workload.Job;
import watchfloor.workload.Workload;

/**
 * Tells what the files of a folder take on the disks of DataNodes.
 *
 * <p>Option: {@code folder} (below the first volume). Record: {@code bytes}, and {@code disk}, the bytes with
 * replicas and parity.
 */
public final class DiskUsed implements Workload {
  @Override
  public void run(Job job) throws Exception {
    Path folder = CodedFiles.path(job, job.text("folder"));
    var content = CodedFiles.system(folder).getContentSummary(folder);
    job.tell(Map.of("bytes", content.getLength(), "disk", content.getSpaceConsumed()));
  }
}

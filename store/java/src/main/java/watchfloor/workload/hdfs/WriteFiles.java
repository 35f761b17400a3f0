package watchfloor.workload.hdfs;

import java.io.OutputStream;
import java.util.Map;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.hdfs.DistributedFileSystem;
import watchfloor.workload.Job;
import watchfloor.workload.Workload;

/**
 * Writes files into HDFS from their beginning to their end, several at once.
 *
 * <p>Options: {@code folder} (below the instance's first volume; it is made anew), {@code policy} (of erasure coding;
 * empty for replicas), {@code files} (written at once), {@code chunks} (MiB of each). Record: {@code seconds}, {@code
 * bytes} of all files, and {@code disk}, the bytes that they take with replicas and parity.
 */
public final class WriteFiles implements Workload {
  @Override
  public void run(Job job) throws Exception {
    Path folder = CodedFiles.path(job, job.text("folder"));
    DistributedFileSystem system = CodedFiles.system(folder);
    String policy = job.text("policy");
    int chunks = job.whole("chunks");
    system.delete(folder, true);
    system.mkdirs(folder);
    double seconds =
        CodedFiles.run(
            job.whole("files"),
            file -> {
              var builder = system.createFile(new Path(folder, Integer.toString(file)));
              builder = policy.isEmpty() ? builder.replicate() : builder.ecPolicyName(policy);
              byte[] chunk = CodedFiles.chunk(file);
              try (OutputStream out = builder.build()) {
                for (int written = 0; written < chunks && !job.isStopping(); written++) {
                  out.write(chunk);
                }
              }
            });
    var content = system.getContentSummary(folder);
    job.tell(Map.of("seconds", seconds, "bytes", content.getLength(), "disk", content.getSpaceConsumed()));
  }
}

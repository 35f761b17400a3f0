package watchfloor.workload.hdfs;

import java.io.IOException;
import java.util.Arrays;
import java.util.Map;
import java.util.concurrent.atomic.AtomicLong;
import org.apache.hadoop.fs.FSDataInputStream;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.hdfs.DistributedFileSystem;
import watchfloor.workload.Job;
import watchfloor.workload.Workload;

/**
 * Reads all files of a folder that {@code WriteFiles} has written, at once, and compares each byte.
 *
 * <p>Option: {@code folder} (below the instance's first volume). Record: {@code seconds}, {@code bytes} of all files.
 */
public final class ReadFiles implements Workload {
  @Override
  public void run(Job job) throws Exception {
    Path folder = CodedFiles.path(job, job.text("folder"));
    DistributedFileSystem system = CodedFiles.system(folder);
    AtomicLong bytes = new AtomicLong();
    int files = system.listStatus(folder).length;
    double seconds =
        CodedFiles.run(
            files,
            file -> {
              Path path = new Path(folder, Integer.toString(file));
              long left = system.getFileStatus(path).getLen();
              byte[] expected = CodedFiles.chunk(file);
              byte[] read = new byte[CodedFiles.CHUNK];
              try (FSDataInputStream in = system.open(path)) {
                for (; left > 0 && !job.isStopping(); left -= CodedFiles.CHUNK) {
                  in.readFully(read);
                  if (!Arrays.equals(read, expected)) {
                    throw new IOException(path + " is not as it was written, " + left + " bytes before its end");
                  }
                  bytes.addAndGet(CodedFiles.CHUNK);
                }
              }
            });
    job.tell(Map.of("seconds", seconds, "bytes", bytes.get()));
  }
}

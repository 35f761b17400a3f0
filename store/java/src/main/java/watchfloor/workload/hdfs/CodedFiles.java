package watchfloor.workload.hdfs;

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.hdfs.DistributedFileSystem;
import watchfloor.bridge.sink.BulkFiles;
import watchfloor.workload.Job;

/** What workloads on files in HDFS share: the file system, content that can be checked, and work on several files. */
final class CodedFiles {
  static final int CHUNK = 1 << 20;

  private CodedFiles() {}

  /** Returns a path below the instance's first volume. */
  static Path path(Job job, String below) {
    return new Path(BulkFiles.volume(job.connection()) + "/" + below);
  }

  /** Returns the file system of a path. Throws an IllegalArgumentException if it is not HDFS. */
  static DistributedFileSystem system(Path path) {
    FileSystem files = BulkFiles.system(path.toString());
    if (!(files instanceof DistributedFileSystem)) {
      throw new IllegalArgumentException(path + " is not in HDFS, whose files alone are erasure-coded");
    }
    return (DistributedFileSystem) files;
  }

  /** Returns the chunk of which a file consists, over and over. */
  static byte[] chunk(int file) {
    byte[] bytes = new byte[CHUNK];
    new SplittableRandom(file).nextBytes(bytes);
    return bytes;
  }

  /** Handles so many files at once, each by its number, and returns the seconds until the last one is done. */
  static double run(int files, FileWork work) throws Exception {
    ExecutorService threads = Executors.newFixedThreadPool(files);
    long began = System.nanoTime();
    try {
      List<Future<Void>> begun = new ArrayList<>();
      for (int number = 0; number < files; number++) {
        int file = number;
        begun.add(
            threads.submit(
                () -> {
                  work.run(file);
                  return null;
                }));
      }
      for (Future<Void> one : begun) {
        one.get();
      }
    } finally {
      threads.shutdownNow();
    }
    return (System.nanoTime() - began) / 1e9;
  }

  /** Writes or reads one file. */
  interface FileWork {
    void run(int file) throws IOException;
  }
}

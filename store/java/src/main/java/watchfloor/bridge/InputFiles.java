package watchfloor.bridge;

import java.io.FileNotFoundException;
import java.io.IOException;
import java.io.RandomAccessFile;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import org.apache.hadoop.fs.FSDataInputStream;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.LocatedFileStatus;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.RemoteIterator;
import org.apache.hadoop.hdfs.protocol.HdfsFileStatus;

/** Log files on Hadoop's file systems: which there are, their states, and their bytes. */
public final class InputFiles {
  private static final int BLOCK = 1 << 20;

  private InputFiles() {}

  private static FileSystem system(String path) throws IOException {
    return new Path(path).getFileSystem(HadoopClient.configuration(path));
  }

  /** Returns the files that fit a pattern, and those below folders that do, in the order of their paths. */
  public static String[] find(String pattern) {
    try {
      FileSystem system = system(pattern);
      List<String> found = new ArrayList<>();
      FileStatus[] fitting = system.globStatus(new Path(pattern));
      for (FileStatus status : fitting == null ? new FileStatus[0] : fitting) {
        if (status.isFile()) {
          found.add(status.getPath().toString());
          continue;
        }
        RemoteIterator<LocatedFileStatus> below = system.listFiles(status.getPath(), true);
        while (below.hasNext()) {
          found.add(below.next().getPath().toString());
        }
      }
      Collections.sort(found);
      return found.toArray(String[]::new);
    } catch (IOException | RuntimeException e) {
      throw failure(pattern, e);
    }
  }

  /** Returns size, time of change (ms since 1970 UTC) and identity of a file; null if there is none. */
  public static long[] state(String path) {
    try {
      FileStatus status = system(path).getFileStatus(new Path(path));
      if (!status.isFile()) {
        throw new IOException("it is a folder");
      }
      long identity = status instanceof HdfsFileStatus ? ((HdfsFileStatus) status).getFileId() : 0;
      return new long[] {status.getLen(), status.getModificationTime(), identity};
    } catch (FileNotFoundException e) {
      return null;
    } catch (IOException | RuntimeException e) {
      throw failure(path, e);
    }
  }

  /** Writes the bytes from {@code start} to {@code end} of a file to the same place of a file of this host. */
  public static void fetch(String path, long start, long end, String target) {
    byte[] block = new byte[BLOCK];
    try (FSDataInputStream from = system(path).open(new Path(path));
        RandomAccessFile to = new RandomAccessFile(target, "rw")) {
      from.seek(start);
      to.seek(start);
      for (long at = start; at < end; ) {
        int read = from.read(block, 0, (int) Math.min(BLOCK, end - at));
        if (read < 0) {
          throw new IOException("it ends at byte " + at);
        }
        to.write(block, 0, read);
        at += read;
      }
    } catch (IOException | RuntimeException e) {
      throw failure(path, e);
    }
  }

  private static StoreException failure(String path, Exception e) {
    // A NameNode sends the trace of its calls along.
    String reason = String.valueOf(e.getMessage()).split("\n", 2)[0];
    return new StoreException("file " + path + ": " + reason, e);
  }
}

package watchfloor.stack;

import java.io.IOException;
import java.io.OutputStream;
import java.nio.channels.ClosedChannelException;
import org.apache.hadoop.fs.FSError;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.RawLocalFileSystem;
import org.apache.hadoop.fs.StreamCapabilities;
import org.apache.hadoop.fs.Syncable;
import org.apache.hadoop.fs.permission.FsPermission;
import org.apache.hadoop.fs.statistics.IOStatistics;
import org.apache.hadoop.fs.statistics.IOStatisticsSource;

/**
 * Hadoop's raw local file system, except that a failed write throws an IOException, as on a distributed file system.
 *
 * <p>Hadoop's throws an Error, at which an Accumulo server halts. A tablet server may write to a write-ahead log that
 * another of its threads is closing because it is full. It expects a ClosedChannelException then, and writes to the
 * next log.
 */
public final class LocalFiles extends RawLocalFileSystem {
  @Override
  protected OutputStream createOutputStream(Path file, boolean append) throws IOException {
    return new Written<>(narrowed(super.createOutputStream(file, append)));
  }

  @Override
  protected OutputStream createOutputStreamWithMode(Path file, boolean append, FsPermission permission)
      throws IOException {
    return new Written<>(narrowed(super.createOutputStreamWithMode(file, append, permission)));
  }

  /** Returns Hadoop's stream, whose class is not public, as the interfaces that it implements. */
  @SuppressWarnings("unchecked")
  private static <T extends OutputStream & Syncable & StreamCapabilities & IOStatisticsSource> T narrowed(
      OutputStream stream) {
    return (T) stream;
  }

  private static final class Written<T extends OutputStream & Syncable & StreamCapabilities & IOStatisticsSource>
      extends OutputStream implements Syncable, StreamCapabilities, IOStatisticsSource {
    private final T file;
    private volatile boolean closed;

    Written(T file) {
      this.file = file;
    }

    @Override
    public void write(int b) throws IOException {
      write(new byte[] {(byte) b}, 0, 1);
    }

    @Override
    public void write(byte[] bytes, int offset, int length) throws IOException {
      try {
        file.write(bytes, offset, length);
      } catch (FSError e) {
        if (closed) {
          throw new ClosedChannelException();
        }
        throw new IOException(e.getCause().getMessage(), e);
      }
    }

    @Override
    public void flush() throws IOException {
      file.flush();
    }

    @Override
    public void hflush() throws IOException {
      file.hflush();
    }

    @Override
    public void hsync() throws IOException {
      file.hsync();
    }

    @Override
    public boolean hasCapability(String capability) {
      return file.hasCapability(capability);
    }

    @Override
    public IOStatistics getIOStatistics() {
      return file.getIOStatistics();
    }

    @Override
    public void close() throws IOException {
      closed = true;
      file.close();
    }
  }
}

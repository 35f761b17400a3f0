package watchfloor.stack.files;

import java.io.IOException;
import java.io.OutputStream;
import java.nio.channels.ClosedChannelException;
import org.apache.hadoop.fs.FSError;
import org.apache.hadoop.fs.StreamCapabilities;
import org.apache.hadoop.fs.Syncable;
import org.apache.hadoop.fs.statistics.IOStatistics;
import org.apache.hadoop.fs.statistics.IOStatisticsSource;

/**
 * Writes a local file. A failed write throws an IOException, as on a distributed file system; Hadoop's own stream throws
 * an Error, at which an Accumulo server halts.
 */
class LocalStream<T extends OutputStream & Syncable & StreamCapabilities & IOStatisticsSource> extends OutputStream
    implements Syncable, StreamCapabilities, IOStatisticsSource {
  private final T file;
  private final boolean synced;
  private volatile boolean closed;

  /**
   * Wraps Hadoop's stream.
   *
   * @param synced true if {@link #close} forces the file to the disk
   */
  LocalStream(T file, boolean synced) {
    this.file = file;
    this.synced = synced;
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
      // A tablet server may write to a log that another of its threads is closing because it is full. It expects this
      // exception then, and writes to the next log.
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
    if (closed) {
      return;
    }
    closed = true;
    try {
      if (synced) {
        file.hsync();
      }
    } finally {
      file.close();
    }
  }
}

package watchfloor.stack.files;

import java.io.IOException;
import java.io.OutputStream;
import java.nio.file.Path;
import org.apache.hadoop.fs.StreamCapabilities;
import org.apache.hadoop.fs.Syncable;
import org.apache.hadoop.fs.statistics.IOStatisticsSource;

/**
 * Writes a write-ahead log. A flush throws an IOException if the log may have been read for recovery meanwhile, so that
 * nothing is acknowledged which recovery has not seen.
 *
 * <p>A tablet server that was paused for longer than its session in ZooKeeper wakes as if nothing had happened, and
 * acknowledges writes until it learns that it counts as dead. Two checks stop it. They follow the bytes of each flush:
 *
 * <ul>
 *   <li>The log is not closed ({@link LogFence}). Recovery closes each log that it knows of before it reads it. Either
 *       the check comes after the closing and fails, or the bytes came before the reading and are recovered.
 *   <li>Once for each log: its server holds its lock after it has made the log known ({@link LogOwner}). Recovery lists
 *       the logs of a server when the lock is gone, so it knows of this one.
 * </ul>
 */
final class LogStream<T extends OutputStream & Syncable & StreamCapabilities & IOStatisticsSource>
    extends LocalStream<T> {
  private final Path log;
  private final LogOwner owner;
  private boolean opened;
  private volatile boolean known;

  LogStream(T file, boolean synced, Path log, LogOwner owner) {
    super(file, synced);
    this.log = log;
    this.owner = owner;
  }

  @Override
  public void hflush() throws IOException {
    super.hflush();
    requireOwned();
  }

  @Override
  public void hsync() throws IOException {
    super.hsync();
    requireOwned();
  }

  private void requireOwned() throws IOException {
    if (!known) {
      requireKnown();
    }
    LogFence.requireOpen(log);
  }

  private synchronized void requireKnown() throws IOException {
    // The first flush is that of the log's header, before the server makes the log known. It acknowledges nothing.
    if (!opened) {
      opened = true;
    } else if (!known) {
      owner.requireLock(log);
      known = true;
    }
  }
}

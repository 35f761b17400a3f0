package watchfloor.stack.files;

import java.io.File;
import java.io.IOException;
import java.io.OutputStream;
import java.net.URI;
import java.nio.channels.FileChannel;
import java.nio.file.StandardOpenOption;
import org.apache.accumulo.core.Constants;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FSDataOutputStream;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.RawLocalFileSystem;
import org.apache.hadoop.fs.StreamCapabilities;
import org.apache.hadoop.fs.Syncable;
import org.apache.hadoop.fs.permission.FsPermission;
import org.apache.hadoop.fs.statistics.BufferedIOStatisticsOutputStream;
import org.apache.hadoop.fs.statistics.IOStatisticsSource;
import org.apache.hadoop.util.Progressable;

/**
 * Hadoop's raw local file system, with what Accumulo relies on from a distributed one: a failed write throws an
 * IOException ({@link LocalStream}), a server that counts as dead cannot write to its log ({@link LogStream}), and what
 * must survive a power cut is forced to the disk.
 *
 * <p>If the configuration's {@link #DURABILITY} is "sync", a file is on the disk when it has been closed, and so is the
 * entry of a file or folder in its parent when it has been created or renamed. Deleting is not forced: Accumulo deletes
 * only what nothing refers to.
 */
public final class LocalFiles extends RawLocalFileSystem {
  /** The setting of the Hadoop configuration that is "sync" or "flush". */
  static final String DURABILITY = "watchfloor.files.durability";

  private final LogOwner logOwner;
  private boolean synced;

  public LocalFiles() {
    logOwner = log -> new ZooKeeperLogOwner(getConf()).requireLock(log);
  }

  LocalFiles(LogOwner logOwner) {
    this.logOwner = logOwner;
  }

  @Override
  public void initialize(URI uri, Configuration configuration) throws IOException {
    super.initialize(uri, configuration);
    synced = "sync".equals(configuration.get(DURABILITY));
  }

  /** Closes a write-ahead log: from now on flushes of those who have it open for writing fail. */
  void closeLog(Path log) throws IOException {
    LogFence.close(pathToFile(log).toPath());
  }

  @Override
  protected OutputStream createOutputStreamWithMode(Path path, boolean append, FsPermission permission)
      throws IOException {
    OutputStream stream = wrap(narrowed(super.createOutputStreamWithMode(path, append, permission)), pathToFile(path));
    syncParent(pathToFile(path));
    return stream;
  }

  /** Returns a stream that can sync, as one of {@link #create} can. Hadoop's only flushes when it is asked to sync. */
  @Override
  public FSDataOutputStream append(Path path, int bufferSize, Progressable progress) throws IOException {
    long length = getFileStatus(path).getLen();
    OutputStream stream = createOutputStreamWithMode(path, true, null);
    return new FSDataOutputStream(new BufferedIOStatisticsOutputStream(stream, bufferSize, true), statistics, length);
  }

  private <T extends OutputStream & Syncable & StreamCapabilities & IOStatisticsSource> OutputStream wrap(
      T stream, File file) {
    boolean log = file.getParentFile().getParentFile() != null
        && file.getParentFile().getParentFile().getName().equals(Constants.WAL_DIR);
    return log ? new LogStream<>(stream, synced, file.toPath(), logOwner) : new LocalStream<>(stream, synced);
  }

  /** Returns Hadoop's stream, whose class is not public, as the interfaces that it implements. */
  @SuppressWarnings("unchecked")
  private static <T extends OutputStream & Syncable & StreamCapabilities & IOStatisticsSource> T narrowed(
      OutputStream stream) {
    return (T) stream;
  }

  @Override
  protected boolean mkOneDirWithMode(Path path, File folder, FsPermission permission) throws IOException {
    boolean made = super.mkOneDirWithMode(path, folder, permission);
    // Also if another process has made the folder just now, and not yet forced its entry to the disk.
    syncParent(folder);
    return made;
  }

  @Override
  public boolean rename(Path from, Path to) throws IOException {
    boolean renamed = super.rename(from, to);
    if (renamed) {
      syncParent(pathToFile(to));
      syncParent(pathToFile(from));
    }
    return renamed;
  }

  /** Forces the entry of a file or folder in its parent to the disk, if files are. */
  private void syncParent(File file) throws IOException {
    if (synced && file.getParentFile() != null) {
      try (FileChannel parent = FileChannel.open(file.getParentFile().toPath(), StandardOpenOption.READ)) {
        parent.force(true);
      }
    }
  }
}

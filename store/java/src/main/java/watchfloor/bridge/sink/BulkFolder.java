package watchfloor.bridge.sink;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.concurrent.Future;
import org.apache.accumulo.core.client.TableNotFoundException;
import org.apache.accumulo.core.client.admin.TableOperations;
import org.apache.accumulo.core.client.rfile.RFile;
import org.apache.accumulo.core.client.rfile.RFileWriter;
import org.apache.accumulo.core.data.Key;
import org.apache.accumulo.core.data.Value;
import org.apache.accumulo.core.util.BadArgumentException;
import org.apache.hadoop.fs.FSDataOutputStream;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import watchfloor.bridge.Connection;
import watchfloor.bridge.Deadline;
import watchfloor.bridge.StoreException;
import watchfloor.bridge.Threads;
import watchfloor.bridge.columns.Batch;
import watchfloor.bridge.columns.LongBatch;
import watchfloor.bridge.columns.WideBatch;

/**
 * A folder of sorted files for one table, which takes them in by one bulk import.
 *
 * <p>All entries of a file must be written in the order of their keys. The tablet servers set their timestamps at the
 * import, as they do for entries from a BatchWriter. Of two versions of a key the later one wins, whichever way each
 * came. Not for use by several threads at once.
 */
public final class BulkFolder implements AutoCloseable {
  /** The timestamp of entries, which the servers replace by the time of the import. */
  private static final long NO_TIME = 0;
  /** How often an import is asked for if the manager does not know a table that exists, and the pause between. */
  private static final int ATTEMPTS = 20;

  private static final long PAUSE_MILLIS = 100;

  private final Connection connection;
  private final String table;
  private final Path path;
  private final boolean sync;
  private final FileSystem files;
  private final Map<String, String> properties;
  private int begun;
  private Path file;
  private RFileWriter writer;
  /** The family of the rows that are being written; null at the begin of a file. */
  private String group;

  /**
   * Creates the folder.
   *
   * @param path of the folder, with the scheme of a file system that the servers read too
   * @param sync true if each file must be on the disk, and not only in the operating system's cache, before it is
   *     imported
   */
  public BulkFolder(Connection connection, String table, String path, boolean sync) {
    this.connection = connection;
    this.table = table;
    this.path = new Path(path);
    this.sync = sync;
    files = BulkFiles.system(path);
    properties =
        guarded(
            () -> {
              Map<String, String> found = connection.client().tableOperations().getConfiguration(table);
              if (!files.mkdirs(this.path)) {
                throw new IOException("the folder cannot be made");
              }
              return found;
            });
  }

  /** Begins a file. Its first key may be before the last key of the file before. */
  public void begin() {
    guarded(
        () -> {
          // A thread of Python has no context class loader, and codecs look for their settings with it.
          Thread.currentThread().setContextClassLoader(BulkFolder.class.getClassLoader());
          group = null;
          file = new Path(path, String.format("%06d.rf", begun++));
          writer = RFile.newWriter().to(file.toString()).withFileSystem(files).withTableProperties(properties).build();
          return null;
        });
  }

  /**
   * Appends a {@link WideBatch}, sorted by row, its columns by qualifier and label. All its columns have one family. Those
   * of a family that is not empty become a locality group; they come before all others.
   */
  public void writeRows(long arrayAddress, long schemaAddress) {
    try (Batch batch = new Batch(arrayAddress, schemaAddress)) {
      guarded(
          () -> {
            WideBatch events = new WideBatch(batch);
            if (events.cells.length > 0) {
              beginGroup(events.families[0]);
            }
            for (int r = 0; r < batch.rows(); r++) {
              byte[] row = events.row.get(r);
              for (int i = 0; i < events.cells.length; i++) {
                if (!events.cells[i].isNull(r)) {
                  append(row, events.families[i], events.qualifiers[i], events.labels[i], events.cells[i].get(r));
                }
              }
            }
            return null;
          });
    }
  }

  private void beginGroup(byte[] family) throws IOException {
    String name = new String(family, StandardCharsets.UTF_8);
    if (name.equals(group)) {
      return;
    }
    group = name;
    if (name.isEmpty()) {
      writer.startDefaultLocalityGroup();
    } else {
      writer.startNewLocalityGroup(name, name);
    }
  }

  /** Appends a {@link LongBatch}, sorted by key. */
  public void writeEntries(long arrayAddress, long schemaAddress) {
    try (Batch batch = new Batch(arrayAddress, schemaAddress)) {
      guarded(
          () -> {
            LongBatch entries = new LongBatch(batch);
            for (int r = 0; r < batch.rows(); r++) {
              append(entries.row.get(r), entries.family(r), entries.qualifier(r), entries.label(r), entries.value(r));
            }
            return null;
          });
    }
  }

  private void append(byte[] row, byte[] family, byte[] qualifier, byte[] label, byte[] value) throws IOException {
    writer.append(new Key(row, family, qualifier, label, NO_TIME, false, false), new Value(value));
  }

  /** Closes the file that was begun last. */
  public void end() {
    guarded(
        () -> {
          writer.close();
          if (sync) {
            try (FSDataOutputStream written = files.append(file)) {
              written.hsync();
            }
          }
          return null;
        });
  }

  /** Imports the files of several folders concurrently. Returns when all are part of their tables. */
  public static void load(BulkFolder[] folders) {
    List<Future<?>> loads = new ArrayList<>();
    for (BulkFolder folder : folders) {
      loads.add(Threads.POOL.submit((Callable<Void>) folder::load));
    }
    try {
      for (int i = 0; i < folders.length; i++) {
        folders[i].guarded(folders[i].bounded(loads.get(i)::get));
      }
    } finally {
      loads.forEach(load -> load.cancel(true));
    }
  }

  /**
   * Imports the folder. The manager looks a table's name up in a cache, which may be read while it is made and then lacks
   * a table that was created just before: it refuses the import, although the table exists, and is asked again.
   */
  private Void load() throws Exception {
    TableOperations tables = connection.client().tableOperations();
    for (int attempt = 1; ; attempt++) {
      try {
        tables.importDirectory(path.toString()).to(table).tableTime(true).load();
        return null;
      } catch (TableNotFoundException e) {
        if (attempt == ATTEMPTS || !tables.exists(table)) {
          throw e;
        }
        Thread.sleep(PAUSE_MILLIS);
      }
    }
  }

  /** Returns a call that has a deadline. */
  private <T> Callable<T> bounded(Callable<T> call) {
    String message = "table " + table + ": bulk import from " + path + " failed: the servers did not take it";
    return () -> Deadline.call(connection.writeSeconds(), message, call);
  }

  /**
   * Removes the folder. A folder that cannot be removed now is removed later, like the folders of processes that are
   * gone.
   */
  @Override
  public void close() {
    try {
      files.delete(path, true);
    } catch (IOException e) {
      // A folder that remains does no harm; it is removed later.
    }
  }

  /** Runs a call and returns its result. A failure of the store is thrown as a StoreException that names the folder. */
  private <T> T guarded(Callable<T> call) {
    try {
      return call.call();
    } catch (BadArgumentException e) {
      throw StoreException.of(table, "bulk import from " + path, e);
    } catch (IllegalArgumentException | IllegalStateException e) {
      // A key is out of order, which is a fault of this program and not of the store.
      throw e;
    } catch (Exception e) {
      throw StoreException.of(table, "bulk import from " + path, e);
    }
  }
}

package watchfloor.bridge.sink;

import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.apache.accumulo.core.client.BatchWriter;
import org.apache.accumulo.core.client.BatchWriterConfig;
import org.apache.accumulo.core.client.MutationsRejectedException;
import org.apache.accumulo.core.client.TableNotFoundException;
import org.apache.accumulo.core.data.Mutation;
import org.apache.accumulo.core.security.ColumnVisibility;
import org.apache.accumulo.core.util.BadArgumentException;
import org.apache.arrow.vector.BigIntVector;
import watchfloor.bridge.Connection;
import watchfloor.bridge.Deadline;
import watchfloor.bridge.StoreException;
import watchfloor.bridge.Threads;
import watchfloor.bridge.columns.Batch;
import watchfloor.bridge.columns.ByteColumn;
import watchfloor.bridge.columns.LongBatch;
import watchfloor.bridge.columns.WideBatch;

/**
 * Writes record batches as entries, through one BatchWriter per table.
 *
 * <p>The write that meets a refusal of the store, or the next flush, throws a {@link StoreException}. A sink that has
 * failed refuses all further use: entries that it held back may be lost, so its user must write again all since the
 * last flush. Not for use by several threads at once.
 */
public final class EntrySink implements AutoCloseable {
  private static final ColumnVisibility PUBLIC = new ColumnVisibility();
  private static final int MAX_PUTS = 10_000;
  private static final int VISIBILITIES_KEPT = 10_000;
  /** The seconds by which a deadline is longer than the writer's own time-out, whose message says more. */
  private static final long GRACE_SECONDS = 10;

  private final Connection connection;
  private final BatchWriterConfig config;
  private final Map<String, BatchWriter> writers = new HashMap<>();
  private final Map<String, ColumnVisibility> visibilities = new HashMap<>();
  private StoreException failure;
  private boolean closed;

  /**
   * @param memoryBytes mutations that wait to be sent, per table
   * @param threads that send, per table
   * @param latencyMillis after which mutations are sent though memory is left; 0 for never
   */
  public EntrySink(Connection connection, long memoryBytes, int threads, long latencyMillis) {
    this.connection = connection;
    config =
        new BatchWriterConfig()
            .setMaxMemory(memoryBytes)
            .setMaxWriteThreads(threads)
            .setMaxLatency(latencyMillis, TimeUnit.MILLISECONDS)
            .setTimeout(connection.writeSeconds(), TimeUnit.SECONDS);
  }

  /** Turns an imported batch into mutations. */
  private interface Encoder {
    void write(BatchWriter writer, Batch batch) throws MutationsRejectedException;
  }

  /** Writes a {@link LongBatch}, which may have timestamps too. Successive entries of one row go into one mutation. */
  public void writeEntries(String table, long arrayAddress, long schemaAddress) {
    write(table, arrayAddress, schemaAddress, (writer, batch) -> putEntries(writer, batch, false));
  }

  /** Deletes the entries with the keys of a {@link LongBatch}. Values and timestamps are ignored. */
  public void deleteEntries(String table, long arrayAddress, long schemaAddress) {
    write(table, arrayAddress, schemaAddress, (writer, batch) -> putEntries(writer, batch, true));
  }

  /** Writes a {@link WideBatch}, with one mutation for each row. */
  public void writeRows(String table, long arrayAddress, long schemaAddress) {
    write(table, arrayAddress, schemaAddress, this::putRows);
  }

  private void write(String table, long arrayAddress, long schemaAddress, Encoder encoder) {
    // The batch is imported before anything can fail, so that it is always released.
    try (Batch batch = new Batch(arrayAddress, schemaAddress)) {
      guarded(
          table,
          "write",
          () -> {
            encoder.write(writer(table), batch);
            return null;
          });
    }
  }

  private void checkUsable() {
    if (failure != null) {
      throw new StoreException("this sink has failed before: " + failure.getMessage(), failure);
    }
    if (closed) {
      throw new StoreException("this sink is closed");
    }
  }

  /** Runs a call that writes. A failure makes the sink unusable and is thrown as a StoreException. */
  private <T> T guarded(String table, String action, Callable<T> call) {
    checkUsable();
    try {
      return bounded(table, action, call);
    } catch (BadArgumentException e) {
      failure = StoreException.of(table, action, e);
      throw failure;
    } catch (IllegalArgumentException e) {
      failure = new StoreException("table " + table + ": half a batch was written: " + e.getMessage(), e);
      throw e;
    } catch (Exception e) {
      failure = StoreException.of(table, action, e);
      throw failure;
    }
  }

  /** Runs a call with a deadline, and returns its result. */
  private <T> T bounded(String table, String action, Callable<T> call) throws Exception {
    long seconds = connection.writeSeconds() + GRACE_SECONDS;
    return Deadline.call(seconds, "table " + table + ": " + action + " failed: the store did not take it", call);
  }

  private BatchWriter writer(String table) throws TableNotFoundException {
    BatchWriter writer = writers.get(table);
    if (writer == null) {
      writer = connection.client().createBatchWriter(table, config);
      writers.put(table, writer);
    }
    return writer;
  }

  private void putRows(BatchWriter writer, Batch batch) throws MutationsRejectedException {
    WideBatch events = new WideBatch(batch);
    int width = events.cells.length;
    ColumnVisibility[] labels = new ColumnVisibility[width];
    Arrays.setAll(labels, i -> visibility(events.labels[i]));
    ByteColumn row = events.row;
    int room = 64;
    for (int r = 0; r < batch.rows(); r++) {
      Mutation mutation = new Mutation(row.data(), row.start(r), row.length(r), room);
      for (int i = 0; i < width; i++) {
        if (!events.cells[i].isNull(r)) {
          mutation.put(events.families[i], events.qualifiers[i], labels[i], events.cells[i].get(r));
        }
      }
      if (mutation.size() == 0) {
        throw new IllegalArgumentException("row " + r + " of the batch has no cell");
      }
      // The next row is probably as long as this one, and a buffer of that size need not grow.
      room = (int) Math.min(mutation.numBytes() + 64, 1 << 20);
      writer.addMutation(mutation);
    }
  }

  private void putEntries(BatchWriter writer, Batch batch, boolean delete) throws MutationsRejectedException {
    LongBatch entries = new LongBatch(batch);
    ByteColumn row = entries.row;
    BigIntVector timestamp = (BigIntVector) batch.root().getVector("timestamp");
    ColumnVisibility visibility = PUBLIC;
    Mutation mutation = null;
    int first = 0;
    for (int r = 0; r < batch.rows(); r++) {
      if (mutation == null || mutation.size() >= MAX_PUTS || !row.same(first, r)) {
        if (mutation != null) {
          writer.addMutation(mutation);
        }
        mutation = new Mutation(row.data(), row.start(r), row.length(r), 64);
        first = r;
      }
      if (entries.label != null && (r == 0 || !entries.label.same(r - 1, r))) {
        visibility = visibility(entries.label(r));
      }
      if (delete) {
        mutation.putDelete(entries.family(r), entries.qualifier(r), visibility);
      } else if (timestamp == null) {
        mutation.put(entries.family(r), entries.qualifier(r), visibility, entries.value(r));
      } else {
        mutation.put(entries.family(r), entries.qualifier(r), visibility, timestamp.get(r), entries.value(r));
      }
    }
    if (mutation != null) {
      writer.addMutation(mutation);
    }
  }

  private ColumnVisibility visibility(byte[] label) {
    if (label.length == 0) {
      return PUBLIC;
    }
    String text = new String(label, StandardCharsets.ISO_8859_1);
    ColumnVisibility known = visibilities.get(text);
    if (known == null) {
      if (visibilities.size() >= VISIBILITIES_KEPT) {
        visibilities.clear();
      }
      known = new ColumnVisibility(label);
      visibilities.put(text, known);
    }
    return known;
  }

  /** Returns when all that was written is durable. The tables are flushed concurrently. */
  public void flush() {
    checkUsable();
    Map<String, Future<?>> flushes = new HashMap<>();
    writers.forEach((table, writer) -> flushes.put(table, Threads.POOL.submit(() -> flush(table, writer))));
    flushes.forEach((table, flush) -> guarded(table, "write", flush::get));
  }

  /** Returns when all that was written to one table is durable. */
  public void flushTable(String table) {
    guarded(table, "write", () -> flush(table, writer(table)));
  }

  private Void flush(String table, BatchWriter writer) throws Exception {
    return bounded(
        table,
        "write",
        () -> {
          writer.flush();
          return null;
        });
  }

  /** Flushes and closes the writers. After a failure nothing more is written. */
  @Override
  public void close() {
    if (closed) {
      return;
    }
    try {
      if (failure == null) {
        flush();
      }
    } finally {
      closed = true;
      List<BatchWriter> open = new ArrayList<>(writers.values());
      writers.clear();
      for (BatchWriter writer : open) {
        // All is flushed or lost by now. Closing a writer that cannot reach its servers would block, so the wait is
        // limited.
        Future<?> closing =
            Threads.POOL.submit(
                () -> {
                  writer.close();
                  return null;
                });
        settle(closing);
      }
    }
  }

  private static void settle(Future<?> closing) {
    try {
      closing.get(GRACE_SECONDS, TimeUnit.SECONDS);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    } catch (ExecutionException | TimeoutException e) {
      // Write or flush has already thrown the failure that made the writer unusable.
      closing.cancel(true);
    }
  }
}

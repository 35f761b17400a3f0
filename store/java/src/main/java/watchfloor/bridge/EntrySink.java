package watchfloor.bridge;

import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
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
import org.apache.arrow.c.ArrowArray;
import org.apache.arrow.c.ArrowSchema;
import org.apache.arrow.c.CDataDictionaryProvider;
import org.apache.arrow.c.Data;
import org.apache.arrow.vector.BigIntVector;
import org.apache.arrow.vector.FieldVector;
import org.apache.arrow.vector.VectorSchemaRoot;

/**
 * Writes record batches as entries, through one BatchWriter a table.
 *
 * <p>Whatever the store refuses is a {@link StoreException}, at the write that meets it or at the next flush. A sink
 * that has failed refuses all further use: what it held back may be lost, and its user must write again from the last
 * flush on. Not for use by several threads at once.
 */
public final class EntrySink implements AutoCloseable {
  private static final byte[] EMPTY = new byte[0];
  private static final ColumnVisibility PUBLIC = new ColumnVisibility();
  private static final int MAX_PUTS = 10_000;
  private static final int VISIBILITIES_KEPT = 10_000;
  /** What a deadline adds to the writer's own time-out, whose message says more. */
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

  /** What turns an imported batch into mutations. */
  private interface Encoder {
    void write(BatchWriter writer, VectorSchemaRoot root, CDataDictionaryProvider dictionaries)
        throws MutationsRejectedException;
  }

  /**
   * Long form: a row per entry with the columns row, family, qualifier, visibility, value and timestamp, of which only
   * row must be there. Entries of one row that follow each other go into one mutation.
   */
  public void writeEntries(String table, long arrayAddress, long schemaAddress) {
    write(table, arrayAddress, schemaAddress, this::putEntries);
  }

  /**
   * Wide form: the first column is the row, each further column is one cell for each of its values that is not null.
   * The field's metadata holds the cells' {@code qualifier} (else it is the column's name) and {@code visibility}.
   */
  public void writeRows(String table, long arrayAddress, long schemaAddress) {
    write(table, arrayAddress, schemaAddress, this::putRows);
  }

  private void write(String table, long arrayAddress, long schemaAddress, Encoder encoder) {
    // Imported before anything can fail: from here on the batch is ours to release.
    try (ArrowArray array = ArrowArray.wrap(arrayAddress);
        ArrowSchema schema = ArrowSchema.wrap(schemaAddress);
        CDataDictionaryProvider dictionaries = new CDataDictionaryProvider();
        VectorSchemaRoot root = Data.importVectorSchemaRoot(Connection.ALLOCATOR, array, schema, dictionaries)) {
      guarded(
          table,
          "write",
          () -> {
            encoder.write(writer(table), root, dictionaries);
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

  private void putRows(BatchWriter writer, VectorSchemaRoot root, CDataDictionaryProvider dictionaries)
      throws MutationsRejectedException {
    List<FieldVector> vectors = root.getFieldVectors();
    ByteColumn row = ByteColumn.of(vectors.get(0), dictionaries);
    int width = vectors.size() - 1;
    ByteColumn[] columns = new ByteColumn[width];
    byte[][] qualifiers = new byte[width][];
    ColumnVisibility[] labels = new ColumnVisibility[width];
    for (int i = 0; i < width; i++) {
      FieldVector vector = vectors.get(i + 1);
      Map<String, String> metadata = vector.getField().getMetadata();
      columns[i] = ByteColumn.of(vector, dictionaries);
      qualifiers[i] = metadata.getOrDefault("qualifier", vector.getName()).getBytes(StandardCharsets.UTF_8);
      labels[i] = visibility(metadata.getOrDefault("visibility", "").getBytes(StandardCharsets.UTF_8));
    }
    int room = 64;
    for (int r = 0; r < root.getRowCount(); r++) {
      Mutation mutation = new Mutation(row.data(), row.start(r), row.length(r), room);
      for (int i = 0; i < width; i++) {
        if (!columns[i].isNull(r)) {
          mutation.put(EMPTY, qualifiers[i], labels[i], columns[i].get(r));
        }
      }
      if (mutation.size() == 0) {
        throw new IllegalArgumentException("row " + r + " of the batch has no cell");
      }
      // The next row is likely as long as this one: a buffer of that size need not grow.
      room = (int) Math.min(mutation.numBytes() + 64, 1 << 20);
      writer.addMutation(mutation);
    }
  }

  private void putEntries(BatchWriter writer, VectorSchemaRoot root, CDataDictionaryProvider dictionaries)
      throws MutationsRejectedException {
    ByteColumn row = column(root, "row", dictionaries);
    if (row == null) {
      throw new IllegalArgumentException("the batch has no column named row");
    }
    ByteColumn family = column(root, "family", dictionaries);
    ByteColumn qualifier = column(root, "qualifier", dictionaries);
    ByteColumn label = column(root, "visibility", dictionaries);
    ByteColumn value = column(root, "value", dictionaries);
    BigIntVector timestamp = (BigIntVector) root.getVector("timestamp");
    ColumnVisibility visibility = PUBLIC;
    Mutation mutation = null;
    int first = 0;
    for (int r = 0; r < root.getRowCount(); r++) {
      if (mutation == null || mutation.size() >= MAX_PUTS || !row.same(first, r)) {
        if (mutation != null) {
          writer.addMutation(mutation);
        }
        mutation = new Mutation(row.data(), row.start(r), row.length(r), 64);
        first = r;
      }
      if (label != null && (r == 0 || !label.same(r - 1, r))) {
        visibility = visibility(label.get(r));
      }
      byte[] f = family == null ? EMPTY : family.get(r);
      byte[] q = qualifier == null ? EMPTY : qualifier.get(r);
      byte[] v = value == null ? EMPTY : value.get(r);
      if (timestamp == null) {
        mutation.put(f, q, visibility, v);
      } else {
        mutation.put(f, q, visibility, timestamp.get(r), v);
      }
    }
    if (mutation != null) {
      writer.addMutation(mutation);
    }
  }

  private static ByteColumn column(VectorSchemaRoot root, String name, CDataDictionaryProvider dictionaries) {
    FieldVector vector = root.getVector(name);
    return vector == null ? null : ByteColumn.of(vector, dictionaries);
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

  /** Returns when all that was written is durable; the tables are flushed side by side. */
  public void flush() {
    checkUsable();
    Map<String, Future<?>> flushes = new HashMap<>();
    writers.forEach(
        (table, writer) ->
            flushes.put(
                table,
                Threads.POOL.submit(
                    () ->
                        bounded(
                            table,
                            "write",
                            () -> {
                              writer.flush();
                              return null;
                            }))));
    flushes.forEach((table, flush) -> guarded(table, "write", flush::get));
  }

  /** Flushes and lets go of the writers. After a failure nothing more is written. */
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
        // All is flushed or lost by now. A writer that cannot reach its servers would hold its user up here.
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
      // The failure that made the writer unusable has been thrown by write or flush.
      closing.cancel(true);
    }
  }
}

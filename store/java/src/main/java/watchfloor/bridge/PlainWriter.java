package watchfloor.bridge;

import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.apache.accumulo.core.client.BatchWriter;
import org.apache.accumulo.core.client.BatchWriterConfig;
import org.apache.accumulo.core.client.TableNotFoundException;
import org.apache.accumulo.core.data.Mutation;
import org.apache.accumulo.core.security.ColumnVisibility;
import org.apache.arrow.c.ArrowArray;
import org.apache.arrow.c.ArrowSchema;
import org.apache.arrow.c.CDataDictionaryProvider;
import org.apache.arrow.c.Data;
import org.apache.arrow.vector.FieldVector;
import org.apache.arrow.vector.VectorSchemaRoot;

/**
 * The yardstick of ingest: mutations that were made beforehand, written by the plainest loop there is around a
 * BatchWriter a table. What an {@link EntrySink} needs more than this for the same entries is our own cost.
 *
 * <p>All mutations stay in memory until {@link #write} has written them. Not for use by several threads.
 */
public final class PlainWriter {
  private static final byte[] EMPTY = new byte[0];
  /** As an EntrySink groups them. */
  private static final int MAX_PUTS = 10_000;

  private final Connection connection;
  private final BatchWriterConfig config;
  private final List<String> tables = new ArrayList<>();
  private final List<List<Mutation>> batches = new ArrayList<>();

  /** The settings mean what they mean to an {@link EntrySink}. */
  public PlainWriter(Connection connection, long memoryBytes, int threads, long latencyMillis) {
    this.connection = connection;
    config =
        new BatchWriterConfig()
            .setMaxMemory(memoryBytes)
            .setMaxWriteThreads(threads)
            .setMaxLatency(latencyMillis, TimeUnit.MILLISECONDS);
  }

  /** Keeps a batch as mutations, the same that a sink makes of it; {@code wide} as in {@link EntrySink#writeRows}. */
  public void hold(String table, long arrayAddress, long schemaAddress, boolean wide) {
    try (ArrowArray array = ArrowArray.wrap(arrayAddress);
        ArrowSchema schema = ArrowSchema.wrap(schemaAddress);
        CDataDictionaryProvider dictionaries = new CDataDictionaryProvider();
        VectorSchemaRoot root = Data.importVectorSchemaRoot(Connection.ALLOCATOR, array, schema, dictionaries)) {
      tables.add(table);
      batches.add(wide ? rows(root, dictionaries) : entries(root, dictionaries));
    }
  }

  private static List<Mutation> rows(VectorSchemaRoot root, CDataDictionaryProvider dictionaries) {
    List<Mutation> made = new ArrayList<>();
    List<FieldVector> vectors = root.getFieldVectors();
    List<ByteColumn> columns = new ArrayList<>();
    vectors.forEach(vector -> columns.add(ByteColumn.of(vector, dictionaries)));
    for (int r = 0; r < root.getRowCount(); r++) {
      Mutation mutation = new Mutation(columns.get(0).get(r));
      for (int c = 1; c < columns.size(); c++) {
        if (!columns.get(c).isNull(r)) {
          Map<String, String> metadata = vectors.get(c).getField().getMetadata();
          byte[] qualifier = bytes(metadata.getOrDefault("qualifier", vectors.get(c).getName()));
          ColumnVisibility label = new ColumnVisibility(bytes(metadata.getOrDefault("visibility", "")));
          mutation.put(EMPTY, qualifier, label, columns.get(c).get(r));
        }
      }
      made.add(sealed(mutation));
    }
    return made;
  }

  private static List<Mutation> entries(VectorSchemaRoot root, CDataDictionaryProvider dictionaries) {
    List<Mutation> made = new ArrayList<>();
    ByteColumn row = ByteColumn.of(root.getVector("row"), dictionaries);
    List<ByteColumn> parts = new ArrayList<>();
    for (String name : List.of("family", "qualifier", "visibility", "value")) {
      FieldVector vector = root.getVector(name);
      parts.add(vector == null ? null : ByteColumn.of(vector, dictionaries));
    }
    Mutation mutation = null;
    for (int r = 0; r < root.getRowCount(); r++) {
      if (mutation == null || mutation.size() >= MAX_PUTS || !row.same(r - 1, r)) {
        if (mutation != null) {
          made.add(sealed(mutation));
        }
        mutation = new Mutation(row.get(r));
      }
      ColumnVisibility label = new ColumnVisibility(part(parts.get(2), r));
      mutation.put(part(parts.get(0), r), part(parts.get(1), r), label, part(parts.get(3), r));
    }
    if (mutation != null) {
      made.add(sealed(mutation));
    }
    return made;
  }

  private static byte[] part(ByteColumn column, int row) {
    return column == null ? EMPTY : column.get(row);
  }

  private static byte[] bytes(String text) {
    return text.getBytes(StandardCharsets.UTF_8);
  }

  /** Serialised now, so that it does not happen while the clock runs. */
  private static Mutation sealed(Mutation mutation) {
    mutation.numBytes();
    return mutation;
  }

  /**
   * Writes and forgets what is held, and returns when it is durable.
   *
   * @return nanoseconds from the first mutation to the end of the last flush
   */
  public long write() {
    Map<String, BatchWriter> writers = new HashMap<>();
    long begin = System.nanoTime();
    try {
      for (int i = 0; i < batches.size(); i++) {
        BatchWriter writer = writers.get(tables.get(i));
        if (writer == null) {
          writer = open(tables.get(i));
          writers.put(tables.get(i), writer);
        }
        for (Mutation mutation : batches.get(i)) {
          writer.addMutation(mutation);
        }
      }
      List<Future<?>> flushes = new ArrayList<>();
      for (BatchWriter writer : writers.values()) {
        flushes.add(
            Threads.POOL.submit(
                () -> {
                  writer.flush();
                  return null;
                }));
      }
      for (Future<?> flush : flushes) {
        flush.get();
      }
      long nanos = System.nanoTime() - begin;
      for (BatchWriter writer : writers.values()) {
        writer.close();
      }
      return nanos;
    } catch (Exception e) {
      throw StoreException.of(String.join(", ", writers.keySet()), "write", e);
    } finally {
      tables.clear();
      batches.clear();
    }
  }

  private BatchWriter open(String table) throws TableNotFoundException {
    return connection.client().createBatchWriter(table, config);
  }
}

package watchfloor.bridge.sink;

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
import watchfloor.bridge.Connection;
import watchfloor.bridge.StoreException;
import watchfloor.bridge.Threads;
import watchfloor.bridge.columns.Batch;
import watchfloor.bridge.columns.LongBatch;
import watchfloor.bridge.columns.WideBatch;

/**
 * Makes the same mutations as an {@link EntrySink}, and writes them later in a plain loop over one BatchWriter per
 * table. Benchmarks compare an EntrySink's time with the time of this loop.
 *
 * <p>All mutations stay in memory until {@link #replay} has written them. Not for use by several threads at once.
 */
public final class MutationRecorder {
  /** The greatest number of entries in a mutation, as in an EntrySink. */
  private static final int MAX_PUTS = 10_000;

  private final Connection connection;
  private final BatchWriterConfig config;
  private final List<String> tables = new ArrayList<>();
  private final List<List<Mutation>> batches = new ArrayList<>();

  /** Takes the same settings as an {@link EntrySink}. */
  public MutationRecorder(Connection connection, long memoryBytes, int threads, long latencyMillis) {
    this.connection = connection;
    config =
        new BatchWriterConfig()
            .setMaxMemory(memoryBytes)
            .setMaxWriteThreads(threads)
            .setMaxLatency(latencyMillis, TimeUnit.MILLISECONDS);
  }

  /** Records the mutations that {@link EntrySink#writeEntries} would write. */
  public void recordEntries(String table, long arrayAddress, long schemaAddress) {
    try (Batch batch = new Batch(arrayAddress, schemaAddress)) {
      tables.add(table);
      batches.add(entryMutations(batch));
    }
  }

  /** Records the mutations that {@link EntrySink#writeRows} would write. */
  public void recordRows(String table, long arrayAddress, long schemaAddress) {
    try (Batch batch = new Batch(arrayAddress, schemaAddress)) {
      tables.add(table);
      batches.add(rowMutations(batch));
    }
  }

  private static List<Mutation> rowMutations(Batch batch) {
    WideBatch events = new WideBatch(batch);
    List<Mutation> mutations = new ArrayList<>();
    for (int r = 0; r < batch.rows(); r++) {
      Mutation mutation = new Mutation(events.row.get(r));
      for (int i = 0; i < events.cells.length; i++) {
        if (!events.cells[i].isNull(r)) {
          ColumnVisibility label = new ColumnVisibility(events.labels[i]);
          mutation.put(events.families[i], events.qualifiers[i], label, events.cells[i].get(r));
        }
      }
      mutations.add(serialised(mutation));
    }
    return mutations;
  }

  private static List<Mutation> entryMutations(Batch batch) {
    LongBatch entries = new LongBatch(batch);
    List<Mutation> mutations = new ArrayList<>();
    Mutation mutation = null;
    for (int r = 0; r < batch.rows(); r++) {
      if (mutation == null || mutation.size() >= MAX_PUTS || !entries.row.same(r - 1, r)) {
        if (mutation != null) {
          mutations.add(serialised(mutation));
        }
        mutation = new Mutation(entries.row.get(r));
      }
      mutation.put(entries.family(r), entries.qualifier(r), new ColumnVisibility(entries.label(r)), entries.value(r));
    }
    if (mutation != null) {
      mutations.add(serialised(mutation));
    }
    return mutations;
  }

  /** Serialises a mutation now, so that {@link #replay} does not measure it. */
  private static Mutation serialised(Mutation mutation) {
    mutation.numBytes();
    return mutation;
  }

  /**
   * Writes and forgets all mutations, and returns when they are durable.
   *
   * @return nanoseconds from the first mutation to the end of the last flush
   */
  public long replay() {
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

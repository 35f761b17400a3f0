package watchfloor.workload.ycsb;

import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.Map;
import java.util.Set;
import java.util.Vector;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import org.apache.accumulo.core.client.BatchWriter;
import org.apache.accumulo.core.client.BatchWriterConfig;
import org.apache.accumulo.core.client.IteratorSetting;
import org.apache.accumulo.core.client.MutationsRejectedException;
import org.apache.accumulo.core.client.Scanner;
import org.apache.accumulo.core.client.TableNotFoundException;
import org.apache.accumulo.core.data.Key;
import org.apache.accumulo.core.data.Mutation;
import org.apache.accumulo.core.data.Range;
import org.apache.accumulo.core.data.Value;
import org.apache.accumulo.core.iterators.user.WholeRowIterator;
import org.apache.accumulo.core.security.Authorizations;
import org.apache.hadoop.io.Text;
import site.ycsb.ByteArrayByteIterator;
import site.ycsb.ByteIterator;
import site.ycsb.DB;
import site.ycsb.DBException;
import site.ycsb.Status;
import watchfloor.bridge.StoreException;
import watchfloor.workload.Job;

/**
 * YCSB's binding to Accumulo: a record is a row, its fields are the qualifiers of one family. Each thread of YCSB has an
 * object of this class with a BatchWriter of its own; all of them share one client.
 *
 * <p>Properties: {@code watchfloor.buffer}, the bytes of a BatchWriter; {@code watchfloor.flush}, whether each write is
 * flushed before it counts as done. Without it a write is done once it is in the buffer.
 */
public final class RecordDatabase extends DB {
  private static final byte[] FAMILY = "ycsb".getBytes(StandardCharsets.UTF_8);
  private static final long MAX_LATENCY_SECONDS = 30;
  private static final AtomicBoolean FAILED = new AtomicBoolean();

  private static Job job;

  private BatchWriter writer;
  private boolean flushes;

  /** Names the job whose client all objects of this class use; YCSB constructs them by the name of the class. */
  static void open(Job opened) {
    job = opened;
  }

  /** Returns true if any operation has failed. */
  static boolean hasFailed() {
    return FAILED.get();
  }

  @Override
  public void init() throws DBException {
    flushes = Boolean.parseBoolean(getProperties().getProperty("watchfloor.flush"));
    BatchWriterConfig config =
        new BatchWriterConfig()
            .setMaxMemory(Long.parseLong(getProperties().getProperty("watchfloor.buffer")))
            .setMaxLatency(MAX_LATENCY_SECONDS, TimeUnit.SECONDS)
            .setMaxWriteThreads(Math.max(1, Runtime.getRuntime().availableProcessors() / 2))
            .setTimeout(job.connection().writeSeconds(), TimeUnit.SECONDS);
    try {
      writer = job.client().createBatchWriter(getProperties().getProperty("table"), config);
    } catch (TableNotFoundException e) {
      throw new DBException(e);
    }
  }

  /** Writes what is left in the buffer. A write that was counted as done may fail only now, so that is told. */
  @Override
  public void cleanup() throws DBException {
    try {
      writer.close();
    } catch (MutationsRejectedException e) {
      fail(getProperties().getProperty("table"), "write", e);
    }
  }

  @Override
  public Status read(String table, String key, Set<String> fields, Map<String, ByteIterator> result) {
    try (Scanner scanner = scanner(table, fields)) {
      scanner.setRange(Range.exact(key));
      for (Map.Entry<Key, Value> entry : scanner) {
        result.put(entry.getKey().getColumnQualifier().toString(), new ByteArrayByteIterator(entry.getValue().get()));
      }
    } catch (TableNotFoundException | RuntimeException e) {
      return fail(table, "scan", e);
    }
    return result.isEmpty() ? Status.NOT_FOUND : Status.OK;
  }

  @Override
  public Status scan(
      String table, String start, int records, Set<String> fields, Vector<HashMap<String, ByteIterator>> result) {
    try (Scanner scanner = scanner(table, fields)) {
      scanner.setRange(new Range(start, null));
      scanner.setBatchSize(records);
      scanner.addScanIterator(new IteratorSetting(100, WholeRowIterator.class));
      for (Map.Entry<Key, Value> row : scanner) {
        HashMap<String, ByteIterator> record = new HashMap<>();
        WholeRowIterator.decodeRow(row.getKey(), row.getValue())
            .forEach(
                (field, value) ->
                    record.put(field.getColumnQualifier().toString(), new ByteArrayByteIterator(value.get())));
        result.add(record);
        if (result.size() == records) {
          break;
        }
      }
    } catch (Exception e) {
      return fail(table, "scan", e);
    }
    return result.isEmpty() ? Status.NOT_FOUND : Status.OK;
  }

  @Override
  public Status update(String table, String key, Map<String, ByteIterator> values) {
    Mutation mutation = new Mutation(key);
    values.forEach((field, value) -> mutation.put(FAMILY, field.getBytes(StandardCharsets.UTF_8), value.toArray()));
    return write(table, mutation);
  }

  @Override
  public Status insert(String table, String key, Map<String, ByteIterator> values) {
    return update(table, key, values);
  }

  /** Is not called by YCSB's core workload. */
  @Override
  public Status delete(String table, String key) {
    return Status.NOT_IMPLEMENTED;
  }

  private Status write(String table, Mutation mutation) {
    try {
      writer.addMutation(mutation);
      if (flushes) {
        writer.flush();
      }
      return flushes ? Status.OK : Status.BATCHED_OK;
    } catch (MutationsRejectedException | RuntimeException e) {
      return fail(table, "write", e);
    }
  }

  private static Scanner scanner(String table, Set<String> fields) throws TableNotFoundException {
    Scanner scanner = job.client().createScanner(table, Authorizations.EMPTY);
    scanner.setTimeout(job.connection().scanSeconds(), TimeUnit.SECONDS);
    if (fields != null) {
      fields.forEach(field -> scanner.fetchColumn(new Text(FAMILY), new Text(field)));
    }
    return scanner;
  }

  /** Tells the first failure of all; YCSB counts them. */
  private static Status fail(String table, String action, Exception error) {
    if (FAILED.compareAndSet(false, true)) {
      job.tell(Map.of("failure", StoreException.of(table, action, error).getMessage()));
    }
    return Status.ERROR;
  }
}

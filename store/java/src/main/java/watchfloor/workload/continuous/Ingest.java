package watchfloor.workload.continuous;

import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.apache.accumulo.core.client.BatchWriter;
import org.apache.accumulo.core.client.BatchWriterConfig;
import org.apache.accumulo.core.client.MutationsRejectedException;
import watchfloor.workload.Job;
import watchfloor.workload.Workload;

/**
 * Writes linked lists of entries. An entry points only to entries that were flushed before it was written, so that an
 * entry that points to nothing proves a loss.
 *
 * <p>A block of lists is written in {@code depth} rounds of {@code interval} entries, with a flush after each. Entry i of
 * a round points to the row of entry i of the round before; those of the first round point to none. At the end of the
 * block the first round's entries are written again, each pointing to the last row of the next list, which joins all
 * lists of the block. The client stops only after a flush, at {@code entries} or when it is told to.
 */
public final class Ingest implements Workload {
  private Job job;
  private EntrySource source;
  private BatchWriter writer;
  private long flushed;

  @Override
  public void run(Job job) throws Exception {
    this.job = job;
    source = new EntrySource(job);
    flushed = System.currentTimeMillis();
    job.tell(Map.of("uuid", source.uuid(), "at", flushed));
    try (BatchWriter open = open(job)) {
      writer = open;
      while (!isDone()) {
        writeBlock(job.whole("interval"), job.whole("depth"));
      }
    }
    job.tell(Map.of("entries", source.count()));
  }

  /** Returns the writer that the suite's clients have. */
  static BatchWriter open(Job job) throws Exception {
    BatchWriterConfig config =
        new BatchWriterConfig()
            .setMaxMemory(job.number("buffer"))
            .setMaxWriteThreads(job.whole("threads"))
            .setMaxLatency(job.number("latency"), TimeUnit.MILLISECONDS);
    return job.client().createBatchWriter(job.text("table"), config);
  }

  private void writeBlock(int interval, int depth) throws MutationsRejectedException {
    source.drawVisibility();
    long[] first = new long[interval];
    int[] families = new int[interval];
    int[] qualifiers = new int[interval];
    for (int i = 0; i < interval; i++) {
      first[i] = source.drawRow();
      families[i] = source.drawFamily();
      qualifiers[i] = source.drawQualifier();
      writer.addMutation(source.make(first[i], families[i], qualifiers[i], -1));
    }
    flush(interval);
    long[] last = first.clone();
    for (int round = 1; round < depth; round++) {
      if (isDone()) {
        return;
      }
      for (int i = 0; i < interval; i++) {
        long row = source.drawRow();
        writer.addMutation(source.make(row, source.drawFamily(), source.drawQualifier(), last[i]));
        last[i] = row;
      }
      flush(interval);
    }
    if (isDone()) {
      return;
    }
    for (int i = 0; i < interval - 1; i++) {
      writer.addMutation(source.make(first[i], families[i], qualifiers[i], last[i + 1]));
    }
    flush(interval);
  }

  private void flush(int interval) throws MutationsRejectedException {
    long began = System.currentTimeMillis();
    writer.flush();
    long ended = System.currentTimeMillis();
    job.tell(
        Map.of(
            "flush", ended, "since", ended - flushed, "duration", ended - began, "count", source.count(), "interval", interval));
    flushed = ended;
  }

  private boolean isDone() {
    return job.isStopping() || source.count() >= job.number("entries");
  }
}

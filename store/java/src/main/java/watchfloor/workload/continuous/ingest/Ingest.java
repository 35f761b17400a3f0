package watchfloor.workload.continuous.ingest;

import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.apache.accumulo.core.client.BatchWriter;
import org.apache.accumulo.core.client.BatchWriterConfig;
import watchfloor.workload.Job;
import watchfloor.workload.Workload;

/**
 * Writes linked lists of entries. An entry is given to the writer only after the entry to which it points was flushed,
 * so that an entry that points to nothing proves a loss.
 *
 * <p>Two writers, each with half the buffer and lists of its own, take turns: one writes a round of {@code LinkedLists}
 * while the other's is flushed, so that the servers never wait for the client between rounds. The client stops only after
 * a flush, at {@code entries} or when it is told to.
 */
public final class Ingest implements Workload {
  private Job job;
  private long written;
  private long flushed;
  private long lastFlush;

  @Override
  public void run(Job job) throws Exception {
    this.job = job;
    EntrySource source = new EntrySource(job);
    lastFlush = System.currentTimeMillis();
    job.tell(Map.of("uuid", source.uuid(), "at", lastFlush));
    try (RoundWriter one = openRounds(source);
        RoundWriter other = openRounds(source)) {
      RoundWriter next = one;
      while (!isDone()) {
        finishFlush(next);
        written += next.writeRound();
        next = next == one ? other : one;
      }
      finishFlush(next);
      finishFlush(next == one ? other : one);
    }
    job.tell(Map.of("entries", written));
  }

  /** Returns a writer with a share of the buffer and the threads of the suite's clients. */
  static BatchWriter open(Job job, int shares) throws Exception {
    BatchWriterConfig config =
        new BatchWriterConfig()
            .setMaxMemory(Math.max(1, job.number("buffer") / shares))
            .setMaxWriteThreads(Math.max(1, job.whole("threads") / shares))
            .setMaxLatency(job.number("latency"), TimeUnit.MILLISECONDS);
    return job.client().createBatchWriter(job.text("table"), config);
  }

  private RoundWriter openRounds(EntrySource source) throws Exception {
    return new RoundWriter(new LinkedLists(source, job.whole("interval"), job.whole("depth")), open(job, 2));
  }

  private void finishFlush(RoundWriter writer) throws Exception {
    RoundWriter.Flush flush = writer.finishFlush();
    if (flush == null) {
      return;
    }
    flushed += flush.entries();
    job.tell(
        Map.of(
            "flush", flush.ended(), "since", flush.ended() - lastFlush, "duration", flush.ended() - flush.began(),
            "count", flushed, "interval", job.whole("interval")));
    lastFlush = flush.ended();
  }

  private boolean isDone() {
    return job.isStopping() || written >= job.number("entries");
  }
}

package watchfloor.workload.continuous.ingest;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.apache.accumulo.core.client.BatchWriter;
import org.apache.accumulo.core.client.BatchWriterConfig;
import org.apache.accumulo.core.client.MutationsRejectedException;
import org.apache.accumulo.core.data.Mutation;
import watchfloor.workload.Job;
import watchfloor.workload.Workload;

/**
 * Writes linked lists of entries. An entry is given to the writer only after the entry to which it points was flushed,
 * so that an entry that points to nothing proves a loss.
 *
 * <p>Each round of {@code LinkedLists} ends with a flush. While it runs, mutations of the next round are made, up to half
 * a buffer of them; they are written when it is over. The client stops only after a flush, at {@code entries} or when it
 * is told to.
 */
public final class Ingest implements Workload {
  private final List<Mutation> ahead = new ArrayList<>();
  private Job job;
  private LinkedLists lists;
  private BatchWriter writer;
  private long written;
  private long flushed;

  @Override
  public void run(Job job) throws Exception {
    this.job = job;
    EntrySource source = new EntrySource(job);
    lists = new LinkedLists(source, job.whole("interval"), job.whole("depth"));
    flushed = System.currentTimeMillis();
    job.tell(Map.of("uuid", source.uuid(), "at", flushed));
    ExecutorService flusher = Executors.newSingleThreadExecutor();
    try (BatchWriter open = open(job)) {
      writer = open;
      lists.beginRound();
      while (!isDone()) {
        writeRound();
        flush(flusher);
      }
    } finally {
      flusher.shutdown();
    }
    job.tell(Map.of("entries", written));
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

  private void writeRound() throws MutationsRejectedException {
    writer.addMutations(ahead);
    written += ahead.size();
    ahead.clear();
    while (lists.hasNext()) {
      writer.addMutation(lists.next());
      written++;
    }
  }

  /** Flushes the round, and begins the next one meanwhile. */
  private void flush(ExecutorService flusher) throws Exception {
    long began = System.currentTimeMillis();
    Future<Long> flush =
        flusher.submit(
            () -> {
              writer.flush();
              return System.currentTimeMillis();
            });
    if (!isDone()) {
      lists.beginRound();
      makeAhead(flush);
    }
    long ended = await(flush);
    job.tell(
        Map.of(
            "flush", ended, "since", ended - flushed, "duration", ended - began, "count", written, "interval", job.whole("interval")));
    flushed = ended;
  }

  private void makeAhead(Future<?> flush) {
    long most = job.number("buffer") / 2;
    for (long bytes = 0; bytes < most && lists.hasNext() && !flush.isDone(); ) {
      Mutation made = lists.next();
      ahead.add(made);
      bytes += made.estimatedMemoryUsed();
    }
  }

  private static long await(Future<Long> flush) throws Exception {
    try {
      return flush.get();
    } catch (ExecutionException e) {
      throw e.getCause() instanceof Exception cause ? cause : e;
    }
  }

  private boolean isDone() {
    return job.isStopping() || written >= job.number("entries");
  }
}

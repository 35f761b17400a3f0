package watchfloor.workload.lookups;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import watchfloor.workload.Job;
import watchfloor.workload.Workload;

/**
 * Executors that each look up random rows again and again, as many as the options say, and check all that comes.
 *
 * <p>Options: {@code table}, {@code executors} (threads), {@code first} (the
 * number of the first of them, where several processes share them), {@code queries} of each, {@code batch} (rows of a
 * look-up), {@code threads} (of a BatchScanner), {@code draw} (the seed by which rows are drawn), {@code warm_up}
 * (seconds of look-ups of the first rows of the table before, so that code is compiled), {@code rounds} (of the same
 * look-ups). Records: {@code phase: looking} with {@code lookups} so far; after each round {@code phase: done} with {@code rows}
 * (of the table), {@code batch}, {@code lookups}, {@code seconds} and {@link
 * LookUpTimes}.
 */
public final class ReadRows implements Workload {
  private static final long TELL_SECONDS = 5;

  private Job job;
  private String table;
  private LookupRows rows;
  private int batch;
  private int threads;
  private final AtomicLong done = new AtomicLong();
  private final AtomicBoolean failed = new AtomicBoolean();

  @Override
  public void run(Job job) throws Exception {
    this.job = job;
    table = job.text("table");
    rows = TableRows.read(job.client(), table);
    batch = (int) Math.min(job.number("batch"), rows.count());
    threads = job.whole("threads");
    int executors = job.whole("executors");
    ExecutorService pool = Executors.newFixedThreadPool(executors);
    try {
      finish(pool, executors, executor -> warmUp());
      for (int round = 0; round < job.whole("rounds") && !job.isStopping(); round++) {
        done.set(0);
        long began = System.nanoTime();
        LookUpTimes all = new LookUpTimes();
        finish(pool, executors, this::lookUpAll).forEach(all::add);
        Map<String, Object> record = all.record();
        record.put("phase", "done");
        record.put("rows", rows.count());
        record.put("batch", batch);
        record.put("lookups", all.count());
        record.put("seconds", (System.nanoTime() - began) / 1e9);
        job.tell(record);
      }
    } finally {
      pool.shutdownNow();
    }
  }

  private interface Work {
    LookUpTimes run(int executor) throws Exception;
  }

  /** Has each executor do its work, tells from time to time how far all are, and returns what they measured. */
  private List<LookUpTimes> finish(ExecutorService pool, int executors, Work work) throws Exception {
    List<Future<LookUpTimes>> running = new ArrayList<>();
    for (int executor = 0; executor < executors; executor++) {
      int number = executor;
      running.add(pool.submit(() -> guarded(work, number)));
    }
    List<LookUpTimes> found = new ArrayList<>();
    for (Future<LookUpTimes> each : running) {
      while (!each.isDone()) {
        try {
          each.get(TELL_SECONDS, TimeUnit.SECONDS);
        } catch (java.util.concurrent.TimeoutException e) {
          job.tell(Map.of("phase", "looking", "lookups", done.get()));
        }
      }
      found.add(each.get());
    }
    return found;
  }

  /** Does the work of an executor. If it fails, all others end at their next look-up. */
  private LookUpTimes guarded(Work work, int executor) throws Exception {
    try {
      return work.run(executor);
    } catch (Exception e) {
      failed.set(true);
      throw e;
    }
  }

  private boolean isOver() {
    return failed.get() || job.isStopping();
  }

  private LookUpTimes warmUp() throws Exception {
    long until = System.nanoTime() + (long) (job.real("warm_up") * 1e9);
    long[] first = new long[batch];
    for (int i = 0; i < batch; i++) {
      first[i] = i;
    }
    while (System.nanoTime() < until && !isOver()) {
      new LookUp(table, rows, first).run(job.client(), threads);
    }
    return new LookUpTimes();
  }

  private LookUpTimes lookUpAll(int executor) throws Exception {
    long queries = job.number("queries");
    Random random = new Random(job.number("draw") * 1_000_003 + job.number("first") + executor);
    LookUpTimes times = new LookUpTimes();
    for (long query = 0; query < queries && !isOver(); query++) {
      LookUp lookUp = new LookUp(table, rows, LookUp.draw(random, rows.count(), batch));
      times.add(lookUp.run(job.client(), threads));
      done.incrementAndGet();
    }
    return times;
  }
}

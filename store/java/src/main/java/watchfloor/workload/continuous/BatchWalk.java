package watchfloor.workload.continuous;

import java.util.ArrayList;
import java.util.HashSet;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.Map.Entry;
import java.util.Set;
import java.util.SplittableRandom;
import org.apache.accumulo.core.client.BatchScanner;
import org.apache.accumulo.core.client.Scanner;
import org.apache.accumulo.core.data.Key;
import org.apache.accumulo.core.data.Range;
import org.apache.accumulo.core.data.Value;
import org.apache.accumulo.core.security.Authorizations;
import org.apache.hadoop.io.Text;
import watchfloor.workload.Job;
import watchfloor.workload.Latencies;
import watchfloor.workload.Workload;

/**
 * Looks up many rows at once with a BatchScanner, and then those to which they point. Rows that are pointed to and not
 * there are told as {@code missing}.
 */
public final class BatchWalk implements Workload {
  private static final int HELD_BATCHES = 3;
  private static final long FILL_MILLIS = 100;
  private static final int MOST_EMPTY_FILLS = 1000;

  private Job job;
  private int batch;
  private SplittableRandom random;
  private Authorizations authorizations;
  private final Set<Long> held = new HashSet<>();
  private long missing;

  @Override
  public void run(Job job) throws Exception {
    this.job = job;
    batch = job.whole("batch");
    random = new SplittableRandom(job.number("seed"));
    List<Authorizations> sets = job.authorizations("authorizations");
    authorizations = sets.get(random.nextInt(sets.size()));
    Latencies fills = new Latencies(job, "find rows", job.number("report"));
    Latencies lookups = new Latencies(job, "look up rows", job.number("report"));
    try (BatchScanner scanner =
        job.client().createBatchScanner(job.text("table"), authorizations, job.whole("threads"))) {
      while (!job.isStopping() && lookups.count() < job.number("lookups")) {
        fill(fills);
        if (!job.isStopping()) {
          lookUp(scanner, lookups);
          job.sleep(job.number("sleep"));
        }
      }
    }
    fills.tellTotal();
    lookups.tellTotal();
    job.tell(Map.of("missing_rows", missing));
  }

  /** Scans from random rows until enough rows are held for a batch. */
  private void fill(Latencies fills) throws Exception {
    long first = job.number("first_row");
    long width = job.number("end_row") - first;
    int empty = 0;
    try (Scanner scanner = job.client().createScanner(job.text("table"), authorizations)) {
      scanner.setBatchSize(batch);
      while (held.size() < batch && !job.isStopping()) {
        long start = first + (random.nextLong() & Long.MAX_VALUE) % width;
        scanner.setRange(new Range(new Text(EntryFormat.row(start)), null));
        int before = held.size();
        long began = System.nanoTime();
        int read = 0;
        Iterator<Entry<Key, Value>> entries = scanner.iterator();
        while (held.size() < HELD_BATCHES * batch && entries.hasNext() && read < batch) {
          read++;
          hold(entries.next().getValue());
        }
        fills.add(began, read);
        empty = held.size() == before ? empty + 1 : 0;
        if (empty == MOST_EMPTY_FILLS) {
          throw new IllegalArgumentException(
              "table " + job.text("table") + " has fewer rows that are pointed to than the batch of " + batch
                  + " asks for: write more, or ask for smaller batches");
        }
        if (held.size() < batch) {
          job.sleep(FILL_MILLIS);
        }
      }
    }
  }

  private void hold(Value value) {
    long previous = EntryFormat.previousOf(value.get());
    if (previous >= 0) {
      held.add(previous);
    }
  }

  private void lookUp(BatchScanner scanner, Latencies lookups) {
    Set<Long> asked = new HashSet<>();
    List<Range> ranges = new ArrayList<>();
    for (Iterator<Long> rows = held.iterator(); rows.hasNext() && asked.size() < batch; rows.remove()) {
      long row = rows.next();
      asked.add(row);
      ranges.add(new Range(new Text(EntryFormat.row(row))));
    }
    scanner.setRanges(ranges);
    Set<Long> seen = new HashSet<>();
    long began = System.nanoTime();
    int read = 0;
    for (Entry<Key, Value> entry : scanner) {
      read++;
      seen.add(EntryFormat.rowOf(entry.getKey()));
      if (held.size() < HELD_BATCHES * batch) {
        hold(entry.getValue());
      }
    }
    lookups.add(began, read);
    asked.removeAll(seen);
    missing += asked.size();
    for (long row : asked) {
      job.tell(Map.of("missing", new Text(EntryFormat.row(row)).toString(), "at", System.currentTimeMillis()));
    }
  }
}

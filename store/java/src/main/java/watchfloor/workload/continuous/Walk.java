package watchfloor.workload.continuous;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Map.Entry;
import java.util.SplittableRandom;
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
 * Follows the lists from entry to entry. A walk begins at a random row; each step looks up one row, checks the checksums
 * of its entries and goes to the row to which one of them, chosen at random, points. A row that is pointed to and not
 * there is told as {@code missing}: with the same authorizations as the entry before it never may be.
 */
public final class Walk implements Workload {
  private static final int START_BATCH = 100;

  private Job job;
  private Latencies starts;
  private Latencies lookups;
  private long missing;
  private long corrupt;

  @Override
  public void run(Job job) throws Exception {
    this.job = job;
    SplittableRandom random = new SplittableRandom(job.number("seed"));
    List<Authorizations> sets = job.authorizations("authorizations");
    starts = new Latencies(job, "find start", job.number("report"));
    lookups = new Latencies(job, "look up row", job.number("report"));
    long idle = 0;
    while (!isDone()) {
      long before = lookups.count();
      walk(random, sets.get(random.nextInt(sets.size())));
      idle = lookups.count() == before ? idle + 1 : 0;
      if (idle == 1000) {
        throw new IllegalArgumentException(
            "1,000 walks found no entry to start from: is table " + job.text("table") + " empty, or hidden by its labels?");
      }
    }
    starts.tellTotal();
    lookups.tellTotal();
    job.tell(Map.of("missing_rows", missing, "corrupt_entries", corrupt));
  }

  private boolean isDone() {
    return job.isStopping() || lookups.count() >= job.number("lookups");
  }

  private void walk(SplittableRandom random, Authorizations authorizations) throws Exception {
    try (Scanner scanner = job.client().createScanner(job.text("table"), authorizations)) {
      long row = findStart(scanner, random);
      while (row >= 0 && !isDone()) {
        job.sleep(job.number("sleep"));
        row = follow(scanner, row, random);
      }
    }
  }

  /** Returns the first row to which an entry after a random row points; -1: there is none. */
  private long findStart(Scanner scanner, SplittableRandom random) {
    long end = job.number("end_row");
    long first = job.number("first_row");
    long start = first + (random.nextLong() & Long.MAX_VALUE) % (end - first);
    scanner.setBatchSize(START_BATCH);
    scanner.setRange(new Range(new Text(EntryFormat.row(start)), null));
    long began = System.nanoTime();
    int read = 0;
    long found = -1;
    for (Entry<Key, Value> entry : scanner) {
      read++;
      found = EntryFormat.previousOf(entry.getValue().get());
      if (found >= 0) {
        break;
      }
    }
    starts.add(began, read);
    return found;
  }

  private long follow(Scanner scanner, long row, SplittableRandom random) {
    scanner.setRange(new Range(new Text(EntryFormat.row(row))));
    long began = System.nanoTime();
    int read = 0;
    List<Long> next = new ArrayList<>();
    for (Entry<Key, Value> entry : scanner) {
      read++;
      if (!EntryFormat.isIntact(entry.getKey(), entry.getValue().get())) {
        corrupt++;
        job.tell(Map.of("corrupt", entry.getKey().toStringNoTime()));
      }
      long previous = EntryFormat.previousOf(entry.getValue().get());
      if (previous >= 0) {
        next.add(previous);
      }
    }
    lookups.add(began, read);
    if (read == 0) {
      missing++;
      job.tell(Map.of("missing", new Text(EntryFormat.row(row)).toString(), "at", System.currentTimeMillis()));
    }
    return next.isEmpty() ? -1 : next.get(random.nextInt(next.size()));
  }
}

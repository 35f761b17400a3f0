package watchfloor.workload.continuous;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Map.Entry;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.LongAdder;
import org.apache.accumulo.core.client.Scanner;
import org.apache.accumulo.core.data.Key;
import org.apache.accumulo.core.data.Range;
import org.apache.accumulo.core.data.Value;
import org.apache.accumulo.core.security.Authorizations;
import org.apache.hadoop.io.Text;
import watchfloor.workload.Job;
import watchfloor.workload.Workload;

/**
 * Reads the whole table and tells of rows that are pointed to and not there (undefined: data was lost), rows to which
 * nothing points (unreferenced), all others (referenced), and entries that do not have their checksums (corrupt).
 *
 * <p>Each entry gives a pair of its row and a mark, and a pair of the row to which it points and its own row. The pairs
 * are sorted on disk, as in accumulo-testing's map-reduce job, so the table may be much larger than memory.
 */
public final class Verify implements Workload {
  private static final long DEFINED = -1;
  private static final int SCAN_BATCH = 10_000;
  private static final int MOST_TOLD = 1_000;
  private static final int MOST_REFERENCES = 10;
  private static final int PAIR_BYTES = 16;

  private Job job;
  private final LongAdder entries = new LongAdder();
  private final LongAdder corrupt = new LongAdder();

  @Override
  public void run(Job job) throws Exception {
    this.job = job;
    long began = System.nanoTime();
    List<SortedPairs> sorters = readAll();
    double read = (System.nanoTime() - began) / 1e9;
    Counts counts = new Counts(job);
    SortedPairs.merge(sorters, counts::take);
    counts.end();
    job.tell(
        Map.of(
            "undefined_rows", counts.undefined, "unreferenced_rows", counts.unreferenced, "referenced_rows",
            counts.referenced, "corrupt_entries", corrupt.sum(), "entries", entries.sum(), "read_seconds", read,
            "seconds", (System.nanoTime() - began) / 1e9));
  }

  private List<SortedPairs> readAll() throws Exception {
    int threads = job.whole("threads");
    Path folder = Path.of(job.text("folder"));
    if (job.number("memory") > Runtime.getRuntime().maxMemory() / 2) {
      throw new IllegalArgumentException("half of the heap may be sorted at once: give less --memory, or more --heap");
    }
    int capacity = Math.toIntExact(Math.max(1_000, job.number("memory") / threads / PAIR_BYTES));
    var ranges = new ConcurrentLinkedQueue<>(
        job.client().tableOperations().splitRangeByTablets(job.text("table"), new Range(), job.whole("ranges")));
    List<SortedPairs> sorters = new ArrayList<>();
    List<Future<?>> readers = new ArrayList<>();
    ExecutorService pool = Executors.newFixedThreadPool(threads);
    for (int i = 0; i < threads; i++) {
      SortedPairs sorter = new SortedPairs(folder, capacity);
      sorters.add(sorter);
      readers.add(pool.submit(() -> {
        for (Range range = ranges.poll(); range != null && !job.isStopping(); range = ranges.poll()) {
          read(range, sorter);
        }
        sorter.spill();
        return null;
      }));
    }
    pool.shutdown();
    for (Future<?> reader : readers) {
      reader.get();
    }
    if (job.isStopping()) {
      throw new IllegalArgumentException("the verification was stopped before its end");
    }
    return sorters;
  }

  private void read(Range range, SortedPairs sorter) throws Exception {
    Authorizations all = job.client().securityOperations().getUserAuthorizations(job.client().whoami());
    try (Scanner scanner = job.client().createScanner(job.text("table"), all)) {
      scanner.setRange(range);
      scanner.setBatchSize(SCAN_BATCH);
      for (Entry<Key, Value> entry : scanner) {
        entries.increment();
        byte[] value = entry.getValue().get();
        long row = EntryFormat.rowOf(entry.getKey());
        if (row < 0 || !EntryFormat.isIntact(entry.getKey(), value)) {
          corrupt.increment();
          if (corrupt.sum() <= MOST_TOLD) {
            job.tell(Map.of("corrupt", entry.getKey().toStringNoTime()));
          }
          continue;
        }
        sorter.add(row, DEFINED);
        long previous = EntryFormat.previousOf(value);
        if (previous >= 0) {
          sorter.add(previous, row);
        }
      }
    }
  }

  /** Counts rows from pairs that come in the order of their rows. */
  private static final class Counts {
    private final Job job;
    private long undefined;
    private long unreferenced;
    private long referenced;
    private long row = -1;
    private boolean isDefined;
    private long references;
    private final List<String> from = new ArrayList<>();

    Counts(Job job) {
      this.job = job;
    }

    void take(long key, long other) {
      if (key != row) {
        end();
        row = key;
      }
      if (other == DEFINED) {
        isDefined = true;
      } else {
        references++;
        if (from.size() < MOST_REFERENCES) {
          from.add(show(other));
        }
      }
    }

    /** Counts the row that was taken last. */
    void end() {
      if (row >= 0 && isDefined) {
        referenced += references > 0 ? 1 : 0;
        unreferenced += references > 0 ? 0 : 1;
      } else if (row >= 0 && ++undefined <= MOST_TOLD) {
        job.tell(Map.of("undefined", show(row), "from", List.copyOf(from)));
      }
      isDefined = false;
      references = 0;
      from.clear();
    }

    private static String show(long number) {
      return new Text(EntryFormat.row(number)).toString();
    }
  }
}

package watchfloor.workload.continuous;

import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import org.apache.accumulo.core.client.Scanner;
import org.apache.accumulo.core.data.Range;
import org.apache.accumulo.core.security.Authorizations;
import org.apache.hadoop.io.Text;
import watchfloor.workload.Job;
import watchfloor.workload.Latencies;
import watchfloor.workload.Workload;

/** Scans random ranges of rows, whose width is adapted so that each has about as many entries as wanted. */
public final class RangeScan implements Workload {
  private static final long FIRST_WIDTH = 1_000_000_000_000L;

  @Override
  public void run(Job job) throws Exception {
    SplittableRandom random = new SplittableRandom(job.number("seed"));
    List<Authorizations> sets = job.authorizations("authorizations");
    long wanted = job.number("wanted");
    double tolerance = Math.min(0.05, 0.05 / (wanted / 1000.0));
    long first = job.number("first_row");
    long whole = job.number("end_row") - first;
    long width = Math.min(FIRST_WIDTH, whole - 1);
    Latencies scans = new Latencies(job, "scan range", job.number("report"));
    try (Scanner scanner = job.client().createScanner(job.text("table"), sets.get(random.nextInt(sets.size())))) {
      while (!job.isStopping() && scans.count() < job.number("lookups")) {
        long start = first + (random.nextLong() & Long.MAX_VALUE) % (whole - width);
        scanner.setRange(range(start, start + width));
        long began = System.nanoTime();
        long found = scanner.stream().count();
        scans.add(began, found);
        width = adapt(width, wanted, found, tolerance, whole - 1);
        job.sleep(job.number("sleep"));
      }
    }
    scans.tellTotal();
    job.tell(Map.of("width", width));
  }

  private static Range range(long start, long end) {
    return new Range(new Text(EntryFormat.row(start)), true, new Text(EntryFormat.row(end)), false);
  }

  /** Returns the next width: ten times as wide after nothing was found, else two thirds of the way back to the aim. */
  static long adapt(long width, long wanted, long found, double tolerance, long most) {
    if (found == 0) {
      return width > most / 10 ? most : width * 10;
    }
    double ratio = (double) wanted / found;
    if (Math.abs(ratio - 1) <= tolerance) {
      return width;
    }
    double next = width * (ratio - (ratio - 1) * 2 / 3);
    return Math.max(1, Math.min(most, (long) next));
  }
}

package watchfloor.workload.lookups;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.HdrHistogram.Histogram;
import org.HdrHistogram.HistogramIterationValue;

/** The times of look-ups: an HDR histogram in microseconds, exact extremes and sum, and the study's buckets of 50 ms. */
final class LookUpTimes {
  /** The last bucket holds all times from one second on. */
  private static final int BUCKETS = 21;

  private static final long BUCKET_NANOS = 50_000_000;
  private static final long HIGHEST_MICROS = 3_600_000_000L;
  private static final int DIGITS = 3;

  private final Histogram histogram = new Histogram(1, HIGHEST_MICROS, DIGITS);
  private final long[] buckets = new long[BUCKETS];
  private long min = Long.MAX_VALUE;
  private long max;
  private long sum;

  void add(long nanos) {
    histogram.recordValue(Math.min(HIGHEST_MICROS, Math.max(1, nanos / 1000)));
    buckets[(int) Math.min(BUCKETS - 1, nanos / BUCKET_NANOS)]++;
    min = Math.min(min, nanos);
    max = Math.max(max, nanos);
    sum += nanos;
  }

  void add(LookUpTimes other) {
    histogram.add(other.histogram);
    for (int i = 0; i < BUCKETS; i++) {
      buckets[i] += other.buckets[i];
    }
    min = Math.min(min, other.min);
    max = Math.max(max, other.max);
    sum += other.sum;
  }

  long count() {
    return histogram.getTotalCount();
  }

  /**
   * Returns all as a record: {@code min_ms}, {@code sum_ms}, {@code max_ms}, {@code buckets}, and {@code counts}: pairs
   * of microseconds, the highest that the histogram does not tell apart, and the number of look-ups.
   */
  Map<String, Object> record() {
    Map<String, Object> record = new HashMap<>();
    record.put("min_ms", min / 1e6);
    record.put("sum_ms", sum / 1e6);
    record.put("max_ms", max / 1e6);
    record.put("buckets", buckets);
    List<long[]> counts = new ArrayList<>();
    for (HistogramIterationValue value : histogram.recordedValues()) {
      counts.add(new long[] {value.getValueIteratedTo(), value.getCountAtValueIteratedTo()});
    }
    record.put("counts", counts);
    return record;
  }
}

package watchfloor.workload;

import java.util.LinkedHashMap;
import java.util.Map;
import org.HdrHistogram.Histogram;

/** How long one kind of request took, told every now and then and in all at the end. Times are in microseconds. */
public final class Latencies {
  private static final long MOST = 3_600_000_000L;

  private final Job job;
  private final String kind;
  private final long everyMillis;
  private final Histogram all = new Histogram(MOST, 3);
  private final Histogram part = new Histogram(MOST, 3);
  private final long began = System.nanoTime();
  private long told = System.currentTimeMillis();
  private long entries;
  private long partEntries;

  /** @param everyMillis after which a part is told; 0: never */
  public Latencies(Job job, String kind, long everyMillis) {
    this.job = job;
    this.kind = kind;
    this.everyMillis = everyMillis;
  }

  /** Adds one request that began at {@code since} ({@code System.nanoTime()}) and returned some entries. */
  public void add(long since, long found) {
    long micros = Math.min(MOST, (System.nanoTime() - since) / 1000);
    all.recordValue(micros);
    part.recordValue(micros);
    entries += found;
    partEntries += found;
    long now = System.currentTimeMillis();
    if (everyMillis > 0 && now - told >= everyMillis) {
      Map<String, Object> record = describe(part, partEntries);
      record.put("at", now);
      record.put("since", now - told);
      job.tell(record);
      part.reset();
      partEntries = 0;
      told = now;
    }
  }

  public long count() {
    return all.getTotalCount();
  }

  /** Tells all requests together: {@code total} is the kind. */
  public void tellTotal() {
    Map<String, Object> record = describe(all, entries);
    record.remove("kind");
    record.put("total", kind);
    record.put("seconds", (System.nanoTime() - began) / 1e9);
    job.tell(record);
  }

  private Map<String, Object> describe(Histogram times, long found) {
    Map<String, Object> record = new LinkedHashMap<>();
    record.put("kind", kind);
    record.put("count", times.getTotalCount());
    record.put("entries", found);
    record.put("min", times.getTotalCount() == 0 ? 0 : times.getMinValue());
    record.put("mean", times.getMean());
    record.put("max", times.getMaxValue());
    for (int percent : new int[] {50, 90, 99}) {
      record.put("p" + percent, times.getValueAtPercentile(percent));
    }
    return record;
  }
}

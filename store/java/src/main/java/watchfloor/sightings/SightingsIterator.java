package watchfloor.sightings;

import java.io.IOException;
import java.util.Map;
import org.apache.accumulo.core.data.ArrayByteSequence;
import org.apache.accumulo.core.data.ByteSequence;
import org.apache.accumulo.core.data.Key;
import org.apache.accumulo.core.data.Value;
import org.apache.accumulo.core.iterators.SortedKeyValueIterator;
import watchfloor.iterators.AnswerKeys;
import watchfloor.iterators.BigEndian;
import watchfloor.iterators.GatheringIterator;
import watchfloor.stats.PartialAnswer;

/**
 * Sums the sightings of many values by field and hour. A range must have whole rows.
 *
 * <p>A sighting's qualifier is {@code REVTS SOURCE 00 FIELD 00 ITEM}; its value repeats {@code [u32 age][u32 events]},
 * the age in hours before the hour of REVTS. A field's name in answers ({@link HourSums}) is {@code SOURCE 00 FIELD 00}.
 */
public class SightingsIterator extends GatheringIterator {
  /** Options: the first hour (since 1970) that counts, and the first one after those that count. */
  public static final String LOW = "low";

  public static final String HIGH = "high";

  private static final long HOUR_MICROS = 3_600_000_000L;
  private static final int REVTS = Long.BYTES;
  private static final int ITEM = Long.BYTES;
  private static final int CELL = 2 * Integer.BYTES;

  private long low;
  private long high;
  private final HourSums sums = new HourSums();

  @Override
  protected PartialAnswer prepare(Map<String, String> options) {
    low = Long.parseLong(options.get(LOW));
    high = Long.parseLong(options.get(HIGH));
    return sums;
  }

  @Override
  protected Key addNext(SortedKeyValueIterator<Key, Value> source) throws IOException {
    if (!source.hasTop()) {
      return null;
    }
    ByteSequence row = new ArrayByteSequence(source.getTopKey().getRowData().toArray());
    do {
      add(source.getTopKey().getColumnQualifierData(), source.getTopValue().get());
      source.next();
    } while (source.hasTop() && source.getTopKey().getRowData().equals(row));
    return AnswerKeys.key(row.getBackingArray());
  }

  private void add(ByteSequence qualifier, byte[] cells) {
    long micros = Long.MAX_VALUE - BigEndian.getLong(qualifier.getBackingArray(), qualifier.offset());
    int newest = (int) (micros / HOUR_MICROS);
    Map<Integer, long[]> hours = null;
    for (int at = 0; at < cells.length; at += CELL) {
      int hour = newest - BigEndian.getInt(cells, at);
      if (hour >= low && hour < high) {
        if (hours == null) {
          hours = sums.ofField(qualifier.subSequence(REVTS, qualifier.length() - ITEM));
        }
        sums.add(hours, hour, BigEndian.getInt(cells, at + Integer.BYTES) & 0xFFFFFFFFL);
      }
    }
  }

  @Override
  protected GatheringIterator create() {
    return new SightingsIterator();
  }
}

package watchfloor.sightings;

import java.nio.ByteBuffer;
import java.util.HashMap;
import java.util.Map;
import org.apache.accumulo.core.data.ArrayByteSequence;
import org.apache.accumulo.core.data.ByteSequence;
import watchfloor.stats.PartialAnswer;

/**
 * The number of events of each field and hour.
 *
 * <p>An answer has for each field {@code [u16 length][name][u32 hours]} and for each of these hours {@code [u32 hour]
 * [u64 events]}, big-endian.
 */
final class HourSums implements PartialAnswer {
  private static final int FIELD_HEADER = Short.BYTES + Integer.BYTES;
  private static final int HOUR = Integer.BYTES + Long.BYTES;

  private final Map<ByteSequence, Map<Integer, long[]>> fields = new HashMap<>();
  private int size;

  /** Returns the sums of a field by hour, whose name may be changed afterwards. */
  Map<Integer, long[]> ofField(ByteSequence name) {
    Map<Integer, long[]> hours = fields.get(name);
    if (hours == null) {
      hours = new HashMap<>();
      fields.put(new ArrayByteSequence(name.toArray()), hours);
      size += FIELD_HEADER + name.length();
    }
    return hours;
  }

  void add(Map<Integer, long[]> hours, int hour, long events) {
    long[] sum = hours.get(hour);
    if (sum == null) {
      sum = new long[1];
      hours.put(hour, sum);
      size += HOUR;
    }
    sum[0] += events;
  }

  @Override
  public boolean isEmpty() {
    return size == 0;
  }

  @Override
  public long bytes() {
    return size;
  }

  @Override
  public byte[] takeAnswer() {
    ByteBuffer out = ByteBuffer.allocate(size);
    fields.forEach(
        (name, hours) -> {
          out.putShort((short) name.length()).put(name.toArray()).putInt(hours.size());
          hours.forEach((hour, events) -> out.putInt(hour).putLong(events[0]));
        });
    fields.clear();
    size = 0;
    return out.array();
  }
}

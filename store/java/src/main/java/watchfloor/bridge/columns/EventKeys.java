package watchfloor.bridge.columns;

import java.util.Arrays;
import java.util.stream.LongStream;
import watchfloor.iterators.BigEndian;

/**
 * The keys of a batch's events: REVTS and HASH, 8 bytes each ({@code docs/keys.md}). HASH is computed from the file and
 * the offset of the event's line as Python's {@code mix_hashes} does; it is 0 where one of both is not shown.
 */
public final class EventKeys {
  private static final int HAS_FILE = 1;
  private static final int HAS_OFFSET = 2;
  private static final int HAS_BOTH = 3;

  private long[] times = new long[256];
  private long[] files = new long[256];
  private long[] offsets = new long[256];
  private byte[] known = new byte[256];

  public void setTime(int event, long micros) {
    reach(event);
    times[event] = micros;
  }

  /** Sets the first 8 bytes of the identity of an event's file. */
  public void setFile(int event, long file) {
    reach(event);
    files[event] = file;
    known[event] |= HAS_FILE;
  }

  public void setOffset(int event, long offset) {
    reach(event);
    offsets[event] = offset;
    known[event] |= HAS_OFFSET;
  }

  private void reach(int event) {
    if (event >= times.length) {
      int length = Math.max(times.length * 2, event + 1);
      times = Arrays.copyOf(times, length);
      files = Arrays.copyOf(files, length);
      offsets = Arrays.copyOf(offsets, length);
      known = Arrays.copyOf(known, length);
    }
  }

  /** Returns the times of the first {@code count} events in microseconds. */
  public LongStream times(int count) {
    return Arrays.stream(times, 0, count);
  }

  /** Returns the column of the first {@code count} events' keys. */
  public ColumnBuilder take(int count) {
    ByteBuilder column = new ByteBuilder("(key)");
    byte[] key = new byte[2 * Long.BYTES];
    for (int i = 0; i < count; i++) {
      BigEndian.putLong(key, 0, Long.MAX_VALUE - times[i]);
      BigEndian.putLong(key, Long.BYTES, known[i] == HAS_BOTH ? mix(files[i], offsets[i]) : 0);
      column.set(i, key, 0, key.length);
    }
    return column;
  }

  /** The finaliser of splitmix64 over the file plus the offset times an odd constant. */
  private static long mix(long file, long offset) {
    long x = file + offset * 0x9E3779B97F4A7C15L;
    x = (x ^ (x >>> 30)) * 0xBF58476D1CE4E5B9L;
    x = (x ^ (x >>> 27)) * 0x94D049BB133111EBL;
    return x ^ (x >>> 31);
  }
}

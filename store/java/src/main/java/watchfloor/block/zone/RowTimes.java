package watchfloor.block.zone;

import watchfloor.iterators.BigEndian;
import watchfloor.iterators.filter.ValueBounds;

/**
 * The times of a block's events, as far as its row ID tells them: {@code SHARD(4) REVTS(8) SPAN(4) ID(8)}. REVTS is the
 * reversed time of the newest event; SPAN is the number of seconds from it to the oldest.
 */
public final class RowTimes {
  private static final int ROW_LENGTH = 24;
  private static final int TIME_AT = 4;
  private static final int SPAN_AT = 12;
  private static final long MICROS = 1_000_000;
  private static final int SATURATED = -1;

  private long newest;
  private long oldest;
  private final ValueBounds bounds = new ValueBounds();
  private final byte[] bytes = new byte[2 * Long.BYTES];

  /** Returns the time (µs) of the newest event of the block whose row begins at an offset of some bytes. */
  public static long newest(byte[] row, int offset) {
    return Long.MAX_VALUE - BigEndian.getLong(row, offset + TIME_AT);
  }

  /** Returns the µs from the newest to the oldest event of the block whose row begins at an offset of some bytes. */
  public static long span(byte[] row, int offset) {
    return (BigEndian.getInt(row, offset + SPAN_AT) & 0xFFFF_FFFFL) * MICROS;
  }

  /** Reads the times of a row. */
  public void read(byte[] row) {
    if (row.length != ROW_LENGTH) {
      throw new IllegalStateException("a block's row has " + ROW_LENGTH + " bytes, not " + row.length);
    }
    newest = newest(row, 0);
    long micros = span(row, 0);
    boolean unbounded = BigEndian.getInt(row, SPAN_AT) == SATURATED || newest < Long.MIN_VALUE + micros;
    oldest = unbounded ? Long.MIN_VALUE : newest - micros;
    BigEndian.putLong(bytes, 0, oldest ^ Long.MIN_VALUE);
    BigEndian.putLong(bytes, Long.BYTES, newest ^ Long.MIN_VALUE);
    bounds.set(bytes, 0, Long.BYTES, Long.BYTES, 2 * Long.BYTES, false);
  }

  /** Returns the bounds of the events' times. */
  public ValueBounds bounds() {
    return bounds;
  }

  /** Returns the time (µs) of the newest event. */
  public long newest() {
    return newest;
  }

  /** Returns a time (µs) that no event is before; Long.MIN_VALUE if the row does not tell one. */
  public long oldest() {
    return oldest;
  }
}

package watchfloor.stats;

import watchfloor.iterators.BigEndian;

/**
 * The values of one field in the events of a {@link StatsSource}. A row is the index of an event, or of an element if
 * this is the column of a list's elements.
 */
public interface StatsColumn {
  /** Returns whether the values are lists. Only {@link #isNull}, {@link #start} and {@link #elements} hold then. */
  boolean isList();

  boolean isNull(int row);

  /**
   * Returns the row of a list's first element in {@link #elements}, or where a value of a {@link #dictionary} begins. It
   * is the end of the list or the value before it.
   */
  int start(int row);

  StatsColumn elements();

  /**
   * Puts a code for each of the first {@code count} rows into {@code codes}. Equal values have equal codes, and other
   * values other codes. The codes hold until the next call.
   *
   * @return a number greater than all codes of values, which is the code of null
   */
  int code(int[] rows, int count, int[] codes);

  /**
   * Returns the array of the values if the last codes are 0, 1, … of ascending values, whose positions in it are by
   * {@link #start}; else null.
   */
  default byte[] dictionary() {
    return null;
  }

  /** Appends the encoded value of a code to {@code out}. */
  void value(int code, StatsWriter out);

  /**
   * Reads the numbers of rows as a whole number, a time or a floating-point number of 8 bytes is encoded; undefined where
   * null.
   */
  void numbers(int[] rows, int count, long[] into);

  /** Returns an encoded number of any length as one of 8 bytes. */
  static long number(byte[] bytes, int from, int to) {
    if (to - from == Long.BYTES) {
      return BigEndian.getLong(bytes, from);
    }
    long number = 0;
    for (int i = from; i < to; i++) {
      number = number << Byte.SIZE | bytes[i] & 0xFF;
    }
    return number ^ Long.MIN_VALUE;
  }
}

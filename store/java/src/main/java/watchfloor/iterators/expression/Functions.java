package watchfloor.iterators.expression;

/** The functions of one value that need no tables. */
final class Functions {
  private static final long HOUR = 3_600_000_000L;
  private static final long DAY = 24 * HOUR;

  private Functions() {}

  static void toDouble(Column in, int position, Column out) {
    out.doubles[position] = in.longs[position];
  }

  static void negateLong(Column in, int position, Column out) {
    out.longs[position] = -in.longs[position];
    out.valid[position] = in.longs[position] != Long.MIN_VALUE;
  }

  static void negateDouble(Column in, int position, Column out) {
    out.doubles[position] = -in.doubles[position];
  }

  /** The number of characters of a text: of bytes that begin one. */
  static void length(Column in, int position, Column out) {
    long length = 0;
    for (int i = in.from[position]; i < in.to[position]; i++) {
      length += (in.bytes[i] & 0xC0) != 0x80 ? 1 : 0;
    }
    out.longs[position] = length;
  }

  /** The hour of a time's day in UTC, from 0 to 23. */
  static void hour(Column in, int position, Column out) {
    out.longs[position] = Math.floorMod(in.longs[position], DAY) / HOUR;
  }

  /** The day of a time's week in UTC, from 1 for Monday to 7 for Sunday; 1970 began on a Thursday. */
  static void weekday(Column in, int position, Column out) {
    out.longs[position] = Math.floorMod(Math.floorDiv(in.longs[position], DAY) + 3, 7) + 1;
  }
}

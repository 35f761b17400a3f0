package watchfloor.workload.lookups;

import java.nio.charset.StandardCharsets;

/**
 * The rows of a table for look-ups. Each is a pure function of its number, of the number of rows and of a seed, so that
 * a reader knows what it must find.
 *
 * <p>The row with the number n lies in the n-th of as many equal parts of the key space as there are rows, at a place
 * that is drawn. So rows in the order of their numbers are sorted, and look random all the same. A value is a text that
 * all rows have in that column and four drawn digits: so long, and so compressible, as those of the study of 2019.
 */
final class LookupRows {
  static final int COLUMNS = 10;
  static final byte[] FAMILY = {'d'};
  static final byte[][] QUALIFIERS = new byte[COLUMNS][];

  private static final int ROW_DIGITS = 16;
  private static final int VALUE_DIGITS = 4;
  private static final byte[][] TEXTS = new byte[COLUMNS][];
  private static final byte[] DIGITS = "0123456789abcdef".getBytes(StandardCharsets.US_ASCII);
  private static final long GOLDEN = 0x9e3779b97f4a7c15L;

  static {
    for (int column = 0; column < COLUMNS; column++) {
      QUALIFIERS[column] = ("c" + column).getBytes(StandardCharsets.US_ASCII);
      TEXTS[column] = ("this is column " + column + " of a row ").getBytes(StandardCharsets.US_ASCII);
    }
  }

  private final long rows;
  private final long seed;
  private final long step;

  LookupRows(long rows, long seed) {
    if (rows < 1) {
      throw new IllegalArgumentException("a table for look-ups has at least one row, not " + rows);
    }
    this.rows = rows;
    this.seed = mix(seed);
    step = Long.MAX_VALUE / rows;
  }

  long count() {
    return rows;
  }

  /** Returns the row ID: sixteen hexadecimal digits. */
  byte[] row(long number) {
    return digits(new byte[ROW_DIGITS], number * step + Long.remainderUnsigned(draw(number, COLUMNS), step));
  }

  /** Returns a row ID that is after the rows of lower numbers and before the row of this number and those after it. */
  byte[] before(long number) {
    return digits(new byte[ROW_DIGITS], number * step - 1);
  }

  byte[] value(long number, int column) {
    byte[] text = TEXTS[column];
    byte[] value = new byte[text.length + VALUE_DIGITS];
    digits(value, draw(number, column));
    System.arraycopy(text, 0, value, 0, text.length);
    return value;
  }

  /** Returns the column of a qualifier; -1 if it is none. */
  static int column(byte[] qualifier) {
    int column = qualifier.length == 2 && qualifier[0] == 'c' ? qualifier[1] - '0' : -1;
    return column < COLUMNS ? column : -1;
  }

  private long draw(long number, int part) {
    return mix(seed + number * (COLUMNS + 1) + part);
  }

  /** SplitMix64 (Steele, Lea and Flood, 2014). */
  private static long mix(long number) {
    long mixed = number + GOLDEN;
    mixed = (mixed ^ (mixed >>> 30)) * 0xbf58476d1ce4e5b9L;
    mixed = (mixed ^ (mixed >>> 27)) * 0x94d049bb133111ebL;
    return mixed ^ (mixed >>> 31);
  }

  /** Fills bytes with the last digits of a number. */
  private static byte[] digits(byte[] into, long number) {
    long left = number;
    for (int i = into.length - 1; i >= 0; i--, left >>>= 4) {
      into[i] = DIGITS[(int) (left & 15)];
    }
    return into;
  }
}

package watchfloor.iterators.expression;

import java.util.Arrays;
import watchfloor.iterators.BigEndian;

/**
 * The values of an expression in some rows: one of each row, or one of each element of the rows' lists.
 *
 * <p>Values stand at positions. Where several rows have the same value of a dictionary, they share a position, so that
 * what is computed from one field alone is computed once for each entry of its dictionary. One object holds the values of
 * any number of calls, one after the other, in the same arrays.
 */
public final class Column {
  /** The types of values. */
  public enum Type {
    LONG,
    DOUBLE,
    BYTES
  }

  /** The stored forms of values: bytes as they are, and numbers in the order of their encoding. */
  public enum Stored {
    BYTES(Type.BYTES),
    INT(Type.LONG),
    FLOAT(Type.DOUBLE),
    UNSIGNED(Type.LONG);

    final Type type;

    Stored(Type type) {
      this.type = type;
    }
  }

  private final Stored stored;
  final Type type;
  /** The number of values. */
  int count;
  int positions;
  /** The position of each value; null if value i is at position i. */
  int[] codes;
  /** The number among the rows, ascending, to whose list each value belongs; null if value i is of row i. */
  int[] owners;
  /** By position: whether there is a value. */
  boolean[] valid = new boolean[0];

  long[] longs = new long[0];
  double[] doubles = new double[0];
  /** The texts are the parts [from, to) of {@link #bytes}. */
  byte[] bytes = new byte[0];

  int[] from = new int[0];
  int[] to = new int[0];
  private int used;

  private int[] ownCodes = new int[0];
  private int[] ownOwners = new int[0];
  private int[] spread = new int[0];

  Column(Stored stored) {
    this.stored = stored;
    type = stored.type;
  }

  /** Makes a column of computed values. */
  Column(Type type) {
    this(type == Type.LONG ? Stored.INT : type == Type.DOUBLE ? Stored.FLOAT : Stored.BYTES);
  }

  /** Begins values of so many rows, each at a position of its own. */
  public void begin(int rows) {
    begin(rows, rows, null, null);
  }

  /** Begins values of so many rows or elements at so many positions. Returns the codes, which the caller fills. */
  public int[] beginCoded(int positions) {
    ownCodes = room(ownCodes, count);
    begin(count, positions, ownCodes, owners);
    return ownCodes;
  }

  /** Begins values of so many elements of lists. Returns the numbers of their rows, which the caller fills. */
  public int[] beginElements(int elements) {
    ownOwners = room(ownOwners, elements);
    begin(elements, elements, null, ownOwners);
    return ownOwners;
  }

  /** Begins values of the rows of another column, at the same positions. */
  void beginLike(Column other) {
    begin(other.count, other.positions, other.codes, other.owners);
  }

  /** Begins values of so many elements, whose rows are known, or of so many rows if {@code owners} is null. */
  void beginOwned(int count, int[] owners) {
    begin(count, count, null, owners);
  }

  private void begin(int count, int positions, int[] codes, int[] owners) {
    this.count = count;
    this.positions = positions;
    this.codes = codes;
    this.owners = owners;
    used = 0;
    if (valid.length < positions) {
      valid = new boolean[positions];
      longs = type == Type.LONG ? new long[positions] : longs;
      doubles = type == Type.DOUBLE ? new double[positions] : doubles;
      from = type == Type.BYTES ? new int[positions] : from;
      to = type == Type.BYTES ? new int[positions] : to;
    }
  }

  /** Gives up all arrays; the next values get new ones. */
  void release() {
    valid = new boolean[0];
    longs = new long[0];
    doubles = new double[0];
    bytes = new byte[0];
    from = new int[0];
    to = new int[0];
    codes = null;
    owners = null;
    ownCodes = new int[0];
    ownOwners = new int[0];
    spread = new int[0];
  }

  /** Leaves a position without a value. */
  public void setMissing(int position) {
    valid[position] = false;
  }

  /** Leaves all positions without a value. */
  public void setAllMissing() {
    Arrays.fill(valid, 0, positions, false);
  }

  /** Sets a stored value, the bytes [start, end). All texts of a column are of one array, which must not change. */
  public void set(int position, byte[] value, int start, int end) {
    if (stored == Stored.BYTES) {
      bytes = value;
      from[position] = start;
      to[position] = end;
      valid[position] = true;
    } else {
      set(position, number(value, start, end));
    }
  }

  /** Sets a stored value that is a number, given as the unsigned number that its bytes are. */
  public void set(int position, long number) {
    valid[position] = true;
    if (stored == Stored.FLOAT) {
      double value = Double.longBitsToDouble(number < 0 ? number ^ Long.MIN_VALUE : ~number);
      doubles[position] = value;
      valid[position] = !Double.isNaN(value);
    } else {
      longs[position] = stored == Stored.INT ? number ^ Long.MIN_VALUE : number;
    }
  }

  private static long number(byte[] value, int start, int end) {
    if (end - start == Long.BYTES) {
      return BigEndian.getLong(value, start);
    }
    if (end - start > Long.BYTES) {
      throw new IllegalStateException("a number has " + (end - start) + " bytes");
    }
    long number = 0;
    for (int i = start; i < end; i++) {
      number = number << Byte.SIZE | value[i] & 0xFF;
    }
    return number;
  }

  /** Sets a text to a copy of the bytes [start, end). A column has copies only or none. */
  void copy(int position, byte[] text, int start, int end) {
    int length = end - start;
    if (bytes.length - used < length) {
      bytes = Arrays.copyOf(bytes, Math.max(bytes.length * 2, used + length));
    }
    System.arraycopy(text, start, bytes, used, length);
    from[position] = used;
    used += length;
    to[position] = used;
  }

  /** Returns the position of a value. */
  int at(int value) {
    return codes == null ? value : codes[value];
  }

  /**
   * Returns the positions of this column's values beside those of a column of elements: each element has the value of its
   * row. Null stands for the positions 0, 1, ….
   *
   * @param rows the owners of the {@code elements} elements; null if there are none
   */
  int[] positionsBeside(int[] rows, int elements) {
    if (rows == null || owners != null) {
      return codes;
    }
    spread = room(spread, elements);
    for (int i = 0; i < elements; i++) {
      spread[i] = at(rows[i]);
    }
    return spread;
  }

  /** Returns a number as one of the order of the encoding. */
  long ordered(int position) {
    if (type == Type.LONG) {
      return longs[position] ^ Long.MIN_VALUE;
    }
    long bits = Double.doubleToRawLongBits(doubles[position] + 0.0);
    return bits < 0 ? ~bits : bits ^ Long.MIN_VALUE;
  }

  /** Returns a negative number, 0 or a positive number if a value is before, equal to or after one of another column. */
  int compare(int position, Column other, int otherPosition) {
    switch (type) {
      case LONG:
        return Long.compare(longs[position], other.longs[otherPosition]);
      case DOUBLE:
        double one = doubles[position];
        double two = other.doubles[otherPosition];
        return one < two ? -1 : one > two ? 1 : 0;
      default:
        return Arrays.compareUnsigned(
            bytes, from[position], to[position], other.bytes, other.from[otherPosition], other.to[otherPosition]);
    }
  }

  private static int[] room(int[] array, int count) {
    return array.length < count ? new int[count] : array;
  }
}

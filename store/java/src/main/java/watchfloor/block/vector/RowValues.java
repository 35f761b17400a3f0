package watchfloor.block.vector;

import watchfloor.iterators.BigEndian;
import watchfloor.sorting.SortKey;

/** Reads single values of a vector in some rows, whatever its form. Not for lists. */
public final class RowValues {
  private Vector vector;
  private int[] rows;
  private int[] codes = new int[0];
  private long[] numbers = new long[0];

  /** Begins to read the first {@code count} of some rows of a vector; a null vector has only nulls. */
  public void begin(Vector vector, int[] rows, int count) {
    this.vector = vector;
    this.rows = rows;
    if (vector == null) {
      return;
    }
    switch (vector.form()) {
      case Vector.DICTIONARY:
        if (codes.length < count) {
          codes = new int[count];
        }
        vector.codes(rows, count, codes);
        break;
      case Vector.NUMBERS:
        if (numbers.length < count) {
          numbers = new long[count];
        }
        vector.numbers(rows, count, numbers);
        break;
      default:
        vector.readNulls();
    }
  }

  public boolean isNull(int at) {
    return vector == null
        || (vector.form() == Vector.DICTIONARY ? codes[at] == vector.entries() : !vector.isValid(rows[at]));
  }

  /** Adds the value in the row at a position, or null, to a key. */
  public void addTo(SortKey key, int at, boolean descending) {
    if (isNull(at)) {
      key.addNull();
    } else if (vector.form() == Vector.NUMBERS) {
      key.addNumber(numbers[at], vector.valueBytes(), descending);
    } else {
      int value = value(at);
      key.addValue(vector.bytes(), vector.start(value), vector.start(value + 1), descending);
    }
  }

  /** Returns the first 8 bytes of the value in the row at a position, which is not null, as a big-endian number. */
  public long leading(int at) {
    return vector.form() == Vector.NUMBERS
        ? numbers[at]
        : BigEndian.getLong(vector.bytes(), vector.start(value(at)));
  }

  private int value(int at) {
    return vector.form() == Vector.DICTIONARY ? codes[at] : rows[at];
  }
}

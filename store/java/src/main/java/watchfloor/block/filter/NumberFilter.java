package watchfloor.block.filter;

import java.util.Arrays;
import watchfloor.block.vector.Vector;
import watchfloor.iterators.BigEndian;
import watchfloor.iterators.filter.Condition;

/** A condition on a field of numbers. It narrows a selection of rows by the field's vector. */
final class NumberFilter {
  /** The greatest number of members that are compared one by one; more are found by binary search. */
  private static final int FEW = 8;

  private final Condition condition;

  /**
   * The width in bytes of the numbers below; 0 until the first vector comes. {@link #numbers} is the condition's
   * interval or its members.
   */
  private int width;
  private long[] numbers;

  private final byte[] encoded = new byte[Long.BYTES];

  NumberFilter(Condition condition) {
    this.condition = condition;
  }

  /** Keeps those of the first {@code count} rows, ascending, that satisfy the condition, and returns their number. */
  int select(Vector vector, int[] rows, int count) {
    int valueBytes = vector.valueBytes();
    if (condition instanceof Condition.Interval) {
      if (width != valueBytes) {
        width = valueBytes;
        numbers = ((Condition.Interval) condition).numbers(valueBytes);
      }
      return numbers == null ? 0 : selectBetween(vector, rows, VectorFilter.keepValid(vector, rows, count));
    }
    if (condition instanceof Condition.Member) {
      if (width != valueBytes) {
        width = valueBytes;
        numbers = ((Condition.Member) condition).numbers(valueBytes);
      }
      return selectMembers(vector, rows, VectorFilter.keepValid(vector, rows, count));
    }
    long[] values = vector.numbers();
    int valid = VectorFilter.keepValid(vector, rows, count);
    int kept = 0;
    for (int i = 0; i < valid; i++) {
      int row = rows[i];
      BigEndian.putLong(encoded, 0, values[row]);
      rows[kept] = row;
      kept += condition.test(encoded, Long.BYTES - valueBytes, Long.BYTES) ? 1 : 0;
    }
    return kept;
  }

  private int selectBetween(Vector vector, int[] rows, int count) {
    long[] values = vector.numbers();
    long first = numbers[0];
    // A number is between two bounds if its unsigned distance from the first is at most that of the last.
    long limit = (numbers[1] - first) ^ Long.MIN_VALUE;
    int kept = 0;
    for (int i = 0; i < count; i++) {
      int row = rows[i];
      rows[kept] = row;
      kept += (values[row] - first ^ Long.MIN_VALUE) <= limit ? 1 : 0;
    }
    return kept;
  }

  private int selectMembers(Vector vector, int[] rows, int count) {
    long[] values = vector.numbers();
    int kept = 0;
    for (int i = 0; i < count; i++) {
      int row = rows[i];
      rows[kept] = row;
      kept += isMember(values[row] ^ Long.MIN_VALUE) ? 1 : 0;
    }
    return kept;
  }

  private boolean isMember(long number) {
    if (numbers.length > FEW) {
      return Arrays.binarySearch(numbers, number) >= 0;
    }
    for (long member : numbers) {
      if (member == number) {
        return true;
      }
    }
    return false;
  }
}

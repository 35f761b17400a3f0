package watchfloor.block.filter;

import java.util.Arrays;
import watchfloor.block.vector.Vector;
import watchfloor.iterators.BigEndian;
import watchfloor.iterators.filter.Condition;

/** A condition on a field of numbers: narrows a selection of rows by a vector of that form. */
final class NumberFilter {
  /** Members that are compared one by one; more are searched. */
  private static final int FEW = 8;

  private final Condition condition;

  /** The condition in numbers of {@code width} bytes, made when the first vector comes. */
  private int width;
  private long[] numbers;

  private final byte[] encoded = new byte[Long.BYTES];

  NumberFilter(Condition condition) {
    this.condition = condition;
  }

  /** Keeps of the first {@code count} rows, ascending, those that satisfy the condition; returns how many. */
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
    // v is between two bounds if its distance from the first, unsigned, is at most that of the last.
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

package watchfloor.stats.states;

import watchfloor.stats.StatsColumn;
import watchfloor.stats.StatsWriter;

/** The sum of floating-point numbers. Written as f64. */
final class FloatSum extends FieldState {
  private double[] sums = new double[0];
  private long[] numbers = new long[0];

  FloatSum(int field) {
    super(field);
  }

  /** Returns the number that an encoded value stands for: the sign bit is flipped, or all bits of a negative one. */
  static double decode(long encoded) {
    return Double.longBitsToDouble(encoded < 0 ? encoded ^ Long.MIN_VALUE : ~encoded);
  }

  @Override
  public void grow(int groups) {
    sums = Room.grow(sums, groups);
  }

  @Override
  void addValues(StatsColumn column, int[] rows, int[] groups, int count) {
    if (numbers.length < count) {
      numbers = new long[count];
    }
    column.numbers(rows, count, numbers);
    for (int i = 0; i < count; i++) {
      if (!column.isNull(rows[i])) {
        sums[groups[i]] += decode(numbers[i]);
      }
    }
  }

  @Override
  public long bytes() {
    return (long) sums.length * Double.BYTES;
  }

  @Override
  public void write(StatsWriter out, int groups) {
    for (int i = 0; i < groups; i++) {
      out.putLong(Double.doubleToRawLongBits(sums[i]));
    }
  }

  @Override
  public void clear() {
    sums = Room.clear(sums);
  }
}

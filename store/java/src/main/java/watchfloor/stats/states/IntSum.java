package watchfloor.stats.states;

import watchfloor.stats.StatsColumn;
import watchfloor.stats.StatsWriter;

/**
 * The sum of whole numbers, which may need more than 64 bits. Written as the i64 sums of the upper 32 bits of all
 * numbers, with their signs, and then the i64 sums of the lower 32 bits.
 */
final class IntSum extends FieldState {
  private long[] high = new long[0];
  private long[] low = new long[0];
  private long[] numbers = new long[0];

  IntSum(int field) {
    super(field);
  }

  @Override
  public void grow(int groups) {
    high = Room.grow(high, groups);
    low = Room.grow(low, groups);
  }

  @Override
  void addValues(StatsColumn column, int[] rows, int[] groups, int count) {
    if (numbers.length < count) {
      numbers = new long[count];
    }
    column.numbers(rows, count, numbers);
    for (int i = 0; i < count; i++) {
      if (!column.isNull(rows[i])) {
        long number = numbers[i] ^ Long.MIN_VALUE;
        high[groups[i]] += number >> Integer.SIZE;
        low[groups[i]] += number & 0xFFFF_FFFFL;
      }
    }
  }

  @Override
  public long bytes() {
    return (long) (high.length + low.length) * Long.BYTES;
  }

  @Override
  public void write(StatsWriter out, int groups) {
    for (long[] part : new long[][] {high, low}) {
      for (int i = 0; i < groups; i++) {
        out.putLong(part[i]);
      }
    }
  }

  @Override
  public void clear() {
    high = Room.clear(high);
    low = Room.clear(low);
  }
}

package watchfloor.stats.states;

import watchfloor.stats.StatsColumn;
import watchfloor.stats.StatsWriter;

/** The number of values. Written as i64. */
final class ValueCount extends FieldState {
  private long[] counts = new long[0];

  ValueCount(int field) {
    super(field);
  }

  @Override
  public void grow(int groups) {
    counts = Room.grow(counts, groups);
  }

  @Override
  void addValues(StatsColumn column, int[] rows, int[] groups, int count) {
    for (int i = 0; i < count; i++) {
      if (!column.isNull(rows[i])) {
        counts[groups[i]]++;
      }
    }
  }

  @Override
  public long bytes() {
    return (long) counts.length * Long.BYTES;
  }

  @Override
  public void write(StatsWriter out, int groups) {
    for (int i = 0; i < groups; i++) {
      out.putLong(counts[i]);
    }
  }

  @Override
  public void clear() {
    counts = Room.clear(counts);
  }
}

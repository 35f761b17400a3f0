package watchfloor.stats.states;

import java.io.IOException;
import java.util.Arrays;
import watchfloor.stats.StatsColumn;
import watchfloor.stats.StatsProgram.StateKind;
import watchfloor.stats.StatsProgram.StatePart;
import watchfloor.stats.StatsSource;
import watchfloor.stats.StatsWriter;

/**
 * The value of the oldest or the newest event that has one; of several values at one time, the least or the greatest.
 * Written as groups × i64 time and then {@link Values}.
 */
final class Earliest extends FieldState {
  private final int time;
  private final int sign;
  private final Values best = new Values();
  private final StatsWriter value = new StatsWriter();
  private long[] bestTimes = new long[0];
  private long[] times = new long[0];
  private int[] codes = new int[0];

  Earliest(StatePart part, int time) {
    super(part.of());
    this.time = time;
    sign = part.kind() == StateKind.FIRST ? -1 : 1;
  }

  @Override
  public void grow(int groups) {
    best.grow(groups);
    bestTimes = Room.grow(bestTimes, groups);
  }

  @Override
  void begin(StatsSource source, int[] events, int count) throws IOException {
    if (times.length < count) {
      times = new long[count];
    }
    source.column(time).numbers(events, count, times);
  }

  @Override
  void addValues(StatsColumn column, int[] rows, int[] groups, int count) {
    if (codes.length < count) {
      codes = new int[count];
    }
    int none = column.code(rows, count, codes);
    for (int i = 0; i < count; i++) {
      if (codes[i] == none) {
        continue;
      }
      int group = groups[i];
      long at = times[i] ^ Long.MIN_VALUE;
      byte[] now = best.get(group);
      int order = now == null ? 1 : sign * Long.compare(at, bestTimes[group]);
      if (order < 0) {
        continue;
      }
      value.clear();
      column.value(codes[i], value);
      if (order > 0 || sign * Arrays.compareUnsigned(value.bytes(), 0, value.size(), now, 0, now.length) > 0) {
        best.set(group, value.toByteArray());
        bestTimes[group] = at;
      }
    }
  }

  @Override
  public long bytes() {
    return best.bytes() + (long) bestTimes.length * Long.BYTES;
  }

  @Override
  public void write(StatsWriter out, int groups) {
    for (int i = 0; i < groups; i++) {
      out.putLong(bestTimes[i]);
    }
    best.write(out, groups);
  }

  @Override
  public void clear() {
    best.clear();
    bestTimes = Room.clear(bestTimes);
  }
}

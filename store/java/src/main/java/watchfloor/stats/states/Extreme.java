package watchfloor.stats.states;

import java.util.Arrays;
import watchfloor.stats.StatsColumn;
import watchfloor.stats.StatsProgram.StateKind;
import watchfloor.stats.StatsProgram.StatePart;
import watchfloor.stats.StatsWriter;

/** The least or the greatest value. Encoded values sort as the values do. Written as {@link Values}. */
final class Extreme extends FieldState {
  private final int sign;
  private final Values best = new Values();
  private final StatsWriter value = new StatsWriter();
  private int[] codes = new int[0];
  /** By code: the value; null if it is not known yet. */
  private byte[][] known = new byte[0][];

  Extreme(StatePart part) {
    super(part.of());
    sign = part.kind() == StateKind.MIN ? -1 : 1;
  }

  @Override
  public void grow(int groups) {
    best.grow(groups);
  }

  @Override
  void addValues(StatsColumn column, int[] rows, int[] groups, int count) {
    if (codes.length < count) {
      codes = new int[count];
    }
    int none = column.code(rows, count, codes);
    known = new byte[none][];
    for (int i = 0; i < count; i++) {
      int code = codes[i];
      if (code == none) {
        continue;
      }
      byte[] mine = known[code];
      if (mine == null) {
        value.clear();
        column.value(code, value);
        mine = known[code] = value.toByteArray();
      }
      byte[] now = best.get(groups[i]);
      if (now == null || (now != mine && sign * Arrays.compareUnsigned(mine, now) > 0)) {
        best.set(groups[i], mine);
      }
    }
    known = new byte[0][];
  }

  @Override
  public long bytes() {
    return best.bytes();
  }

  @Override
  public void write(StatsWriter out, int groups) {
    best.write(out, groups);
  }

  @Override
  public void clear() {
    best.clear();
  }
}

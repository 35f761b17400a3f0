package watchfloor.cell;

import java.util.Arrays;
import watchfloor.iterators.filter.FilterProgram;
import watchfloor.stats.StatsColumn;
import watchfloor.stats.StatsProgram;
import watchfloor.stats.StatsSource;

/** Some events of the cell layout as a {@link StatsSource}: the fields that a program needs, a column each. */
final class CellEvents implements StatsSource {
  private final EventCells cells;
  private final int[] slots;
  private final CellColumn[] columns;
  private final EventFilter[] filters;
  /** By filter and event: whether the event satisfies the filter. */
  private final boolean[][] satisfied;
  private int count;

  /** Allocates the slots that a program needs in {@code cells}. */
  CellEvents(StatsProgram program, EventCells cells, int most) {
    this.cells = cells;
    slots =
        program.fields.stream()
            .mapToInt(f -> f.kind() == FilterProgram.Kind.TIME ? cells.timeSlot() : cells.slot(f.name()))
            .toArray();
    columns =
        program.fields.stream()
            .map(field -> new CellColumn(field.kind() == FilterProgram.Kind.LIST))
            .toArray(CellColumn[]::new);
    filters = program.filters.stream().map(filter -> EventFilter.decode(filter, cells)).toArray(EventFilter[]::new);
    satisfied = new boolean[filters.length][most];
  }

  int count() {
    return count;
  }

  void clear() {
    count = 0;
    Arrays.stream(columns).forEach(CellColumn::clear);
  }

  /** Adds the event whose cells were read. */
  void add() {
    for (int i = 0; i < columns.length; i++) {
      int length = cells.length(slots[i]);
      if (length < 0) {
        columns[i].addNull();
      } else {
        int offset = cells.offset(slots[i]);
        columns[i].add(cells.bytes(), offset, offset + length);
      }
    }
    for (int i = 0; i < filters.length; i++) {
      satisfied[i][count] = filters[i].matches(cells);
    }
    count++;
  }

  @Override
  public StatsColumn column(int field) {
    return columns[field];
  }

  @Override
  public int select(int filter, int[] rows, int some) {
    int kept = 0;
    for (int i = 0; i < some; i++) {
      if (satisfied[filter][rows[i]]) {
        rows[kept++] = rows[i];
      }
    }
    return kept;
  }

  @Override
  public long oldest() {
    return Long.MIN_VALUE;
  }

  @Override
  public long newest() {
    return Long.MAX_VALUE;
  }
}

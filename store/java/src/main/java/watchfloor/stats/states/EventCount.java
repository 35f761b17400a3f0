package watchfloor.stats.states;

import java.io.IOException;
import watchfloor.stats.StatsColumn;
import watchfloor.stats.StatsProgram.StateKind;
import watchfloor.stats.StatsProgram.StatePart;
import watchfloor.stats.StatsSource;
import watchfloor.stats.StatsWriter;

/** The number of events: of all, of those that have a field, or of those that satisfy a filter. Written as i64. */
final class EventCount implements State {
  private final StatePart part;
  private long[] counts = new long[0];
  private int[] selected = new int[0];

  EventCount(StatePart part) {
    this.part = part;
  }

  @Override
  public void grow(int groups) {
    counts = Room.grow(counts, groups);
  }

  @Override
  public void add(StatsSource source, int[] rows, int[] groups, int count) throws IOException {
    if (part.kind() == StateKind.EVENTS) {
      for (int i = 0; i < count; i++) {
        counts[groups[i]]++;
      }
    } else if (part.kind() == StateKind.EVENTS_WITH) {
      StatsColumn column = source.column(part.of());
      for (int i = 0; column != null && i < count; i++) {
        if (!column.isNull(rows[i])) {
          counts[groups[i]]++;
        }
      }
    } else {
      addSelected(source, rows, groups, count);
    }
  }

  private void addSelected(StatsSource source, int[] rows, int[] groups, int count) throws IOException {
    if (selected.length < count) {
      selected = new int[count];
    }
    // A filter selects among ascending rows, each once.
    int distinct = 0;
    for (int i = 0; i < count; i++) {
      if (distinct == 0 || selected[distinct - 1] != rows[i]) {
        selected[distinct++] = rows[i];
      }
    }
    int found = source.select(part.of(), selected, distinct);
    int at = 0;
    for (int i = 0; i < count; i++) {
      while (at < found && selected[at] < rows[i]) {
        at++;
      }
      if (at < found && selected[at] == rows[i]) {
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

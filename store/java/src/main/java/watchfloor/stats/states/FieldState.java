package watchfloor.stats.states;

import java.io.IOException;
import watchfloor.stats.StatsColumn;
import watchfloor.stats.StatsSource;

/** A state of a field's values. The elements of lists are values each. */
abstract class FieldState implements State {
  private final int field;
  private int[] elements = new int[0];
  private int[] groupsOfElements = new int[0];
  /** The events of the values at hand. */
  private int[] events = new int[0];

  FieldState(int field) {
    this.field = field;
  }

  @Override
  public final void add(StatsSource source, int[] rows, int[] groups, int count) throws IOException {
    StatsColumn column = source.column(field);
    if (column == null) {
      return;
    }
    if (!column.isList()) {
      begin(source, rows, count);
      addValues(column, rows, groups, count);
      return;
    }
    int total = 0;
    for (int i = 0; i < count; i++) {
      total += column.start(rows[i] + 1) - column.start(rows[i]);
    }
    if (elements.length < total) {
      elements = new int[total];
      groupsOfElements = new int[total];
      events = new int[total];
    }
    int at = 0;
    for (int i = 0; i < count; i++) {
      for (int element = column.start(rows[i]); element < column.start(rows[i] + 1); element++) {
        elements[at] = element;
        events[at] = rows[i];
        groupsOfElements[at++] = groups[i];
      }
    }
    begin(source, events, at);
    addValues(column.elements(), elements, groupsOfElements, at);
  }

  /** Takes the events whose values follow. */
  void begin(StatsSource source, int[] events, int count) throws IOException {}

  /** Adds the values of rows, which are events or elements, to their groups. */
  abstract void addValues(StatsColumn column, int[] rows, int[] groups, int count);
}

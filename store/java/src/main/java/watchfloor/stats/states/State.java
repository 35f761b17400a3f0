package watchfloor.stats.states;

import java.io.IOException;
import watchfloor.stats.StatsProgram.StatePart;
import watchfloor.stats.StatsSource;
import watchfloor.stats.StatsWriter;

/** What is kept of the events of each group. States of the same groups can be merged. */
public interface State {
  /** Returns the state of a part. {@code time} is the field of the events' times. */
  static State of(StatePart part, int time) {
    return switch (part.kind()) {
      case EVENTS, EVENTS_WITH, EVENTS_WHERE -> new EventCount(part);
      case VALUES -> new ValueCount(part.of());
      case SUM_INT -> new IntSum(part.of());
      case SUM_FLOAT -> new FloatSum(part.of());
      case MIN, MAX -> new Extreme(part);
      case FIRST, LAST -> new Earliest(part, time);
      case SET -> new ValueSet(part.of());
      case HISTOGRAM_INT -> new Histogram(part.of(), false);
      case HISTOGRAM_FLOAT -> new Histogram(part.of(), true);
    };
  }

  /** Makes room for groups, the new ones without events. */
  void grow(int groups);

  /**
   * Adds events to their groups.
   *
   * @param rows of the events; one comes several times if it is in several groups
   * @param groups of each of the first {@code count} rows
   */
  void add(StatsSource source, int[] rows, int[] groups, int count) throws IOException;

  long bytes();

  void write(StatsWriter out, int groups);

  void clear();
}

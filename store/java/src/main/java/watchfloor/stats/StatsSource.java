package watchfloor.stats;

import java.io.IOException;

/** Some events, as a layout reads them: a block, or some cells' events. */
public interface StatsSource {
  /** Returns the values of a field of the {@link StatsProgram}; null if all of them are null. */
  StatsColumn column(int field) throws IOException;

  /** Keeps those of the first {@code count} rows that satisfy a filter of the program, and returns their number. */
  int select(int filter, int[] rows, int count) throws IOException;

  /** Returns a time (µs) that no event is before; Long.MIN_VALUE if none is known. */
  long oldest();

  /** Returns a time (µs) that no event is after. */
  long newest();
}

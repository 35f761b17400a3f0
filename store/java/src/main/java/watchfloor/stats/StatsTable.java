package watchfloor.stats;

import java.io.IOException;
import java.util.List;
import java.util.stream.Collectors;
import watchfloor.stats.states.State;

/**
 * The groups of the events that were added, and the states of each group.
 *
 * <p>{@link #write} has the form, little-endian: <pre>
 * u32 groups, u64 events
 * per key:   u32 n | n × u32 ends of the values | values | groups × i32 number of the value, -1 for null
 * per state: see the classes of {@link State}
 * </pre>
 */
public final class StatsTable implements PartialAnswer {
  private final GroupTable groups;
  private final List<State> states;
  private long events;

  public StatsTable(StatsProgram program) {
    int time = program.fields.size() - 1;
    groups = new GroupTable(program.keys);
    states = program.states.stream().map(part -> State.of(part, time)).collect(Collectors.toList());
  }

  /** Adds the first {@code count} rows of a source, which are ascending. */
  public void add(StatsSource source, int[] rows, int count) throws IOException {
    events += count;
    int positions = groups.find(source, rows, count);
    for (State state : states) {
      state.grow(groups.size());
      state.add(source, groups.rows(), groups.groups(), positions);
    }
  }

  @Override
  public boolean isEmpty() {
    return events == 0;
  }

  public int groups() {
    return groups.size();
  }

  @Override
  public long bytes() {
    long bytes = groups.bytes();
    for (State state : states) {
      bytes += state.bytes();
    }
    return bytes;
  }

  @Override
  public byte[] takeAnswer() {
    StatsWriter out = new StatsWriter();
    int size = groups.size();
    out.putInt(size);
    out.putLong(events);
    groups.write(out);
    for (State state : states) {
      state.grow(size);
      state.write(out, size);
      state.clear();
    }
    groups.clear();
    events = 0;
    return out.toByteArray();
  }
}

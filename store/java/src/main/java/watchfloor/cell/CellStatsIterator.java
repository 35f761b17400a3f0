package watchfloor.cell;

import java.io.IOException;
import java.util.Arrays;
import java.util.Map;
import org.apache.accumulo.core.data.Key;
import org.apache.accumulo.core.data.Value;
import org.apache.accumulo.core.iterators.SortedKeyValueIterator;
import watchfloor.iterators.EventOptions;
import watchfloor.iterators.GatheringIterator;
import watchfloor.iterators.StatsOptions;
import watchfloor.stats.PartialAnswer;
import watchfloor.stats.StatsProgram;
import watchfloor.stats.StatsTable;

/**
 * Gives the groups of the events that satisfy a filter, as the block layout's iterator does.
 */
public class CellStatsIterator extends GatheringIterator {
  /** The number of events that are grouped at once. */
  private static final int MOST = 1024;

  private final EventCells cells = new EventCells();
  private EventFilter filter;
  private CellEvents events;
  private StatsTable table;
  private final int[] rows = new int[MOST];

  @Override
  protected PartialAnswer prepare(Map<String, String> options) {
    StatsProgram program = StatsOptions.program(options);
    byte[] given = EventOptions.filter(options);
    filter = given == null ? EventFilter.all() : EventFilter.decode(given, cells);
    events = new CellEvents(program, cells, MOST);
    cells.freeze();
    table = new StatsTable(program);
    return new GroupedEvents();
  }

  @Override
  protected Key addNext(SortedKeyValueIterator<Key, Value> source) throws IOException {
    if (!source.hasTop()) {
      return null;
    }
    Key row = cells.readEvent(source);
    if (filter.matches(cells)) {
      events.add();
      if (events.count() == MOST) {
        group();
      }
    }
    return row;
  }

  private void group() throws IOException {
    if (events.count() > 0) {
      Arrays.setAll(rows, i -> i);
      table.add(events, rows, events.count());
      events.clear();
    }
  }

  @Override
  protected GatheringIterator create() {
    return new CellStatsIterator();
  }

  /** The table with the events that are still to be grouped. */
  private final class GroupedEvents implements PartialAnswer {
    @Override
    public boolean isEmpty() {
      return table.isEmpty() && events.count() == 0;
    }

    @Override
    public long bytes() {
      return table.bytes();
    }

    @Override
    public byte[] takeAnswer() throws IOException {
      group();
      return table.takeAnswer();
    }
  }
}

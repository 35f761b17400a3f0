package watchfloor.cell;

import java.io.IOException;
import java.util.Arrays;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import org.apache.accumulo.core.data.ByteSequence;
import org.apache.accumulo.core.data.Key;
import org.apache.accumulo.core.data.Range;
import org.apache.accumulo.core.data.Value;
import org.apache.accumulo.core.iterators.IteratorEnvironment;
import org.apache.accumulo.core.iterators.SortedKeyValueIterator;
import watchfloor.iterators.AnswerIterator;
import watchfloor.iterators.AnswerKeys;
import watchfloor.iterators.EventOptions;
import watchfloor.iterators.Heartbeat;
import watchfloor.iterators.StatsOptions;
import watchfloor.iterators.filter.ValueSet;
import watchfloor.iterators.filter.ValueSets;
import watchfloor.stats.StatsProgram;
import watchfloor.stats.StatsTable;

/**
 * Gives the groups of the events that satisfy a filter, as the block layout's iterator does. An answer's key is the row
 * of the last event that it covers.
 */
public class CellStatsIterator extends AnswerIterator {
  /** The number of events that are grouped at once. */
  private static final int MOST = 1024;

  private Map<String, String> options;
  /** Kept as long as the filters that refer to them. */
  private List<ValueSet> sets;
  private SortedKeyValueIterator<Key, Value> source;
  private EventCells cells;
  private EventFilter filter;
  private CellEvents events;
  private StatsTable table;
  private long mostBytes;
  private final int[] rows = new int[MOST];

  @Override
  public void init(
      SortedKeyValueIterator<Key, Value> source, Map<String, String> options, IteratorEnvironment environment) {
    this.source = source;
    this.options = Map.copyOf(options);
    sets = ValueSets.load(options);
    StatsProgram program = StatsOptions.program(options);
    cells = new EventCells();
    byte[] given = EventOptions.filter(options);
    filter = given == null ? EventFilter.all() : EventFilter.decode(given, cells);
    events = new CellEvents(program, cells, MOST);
    cells.freeze();
    table = new StatsTable(program);
    mostBytes = StatsOptions.mostBytes(options);
  }

  @Override
  public void seek(Range range, Collection<ByteSequence> families, boolean inclusive) throws IOException {
    clearTop();
    Range left = AnswerKeys.left(range);
    if (left != null) {
      source.seek(left, families, inclusive);
      next();
    }
  }

  @Override
  public void next() throws IOException {
    clearTop();
    long begin = System.nanoTime();
    Key row = null;
    while (source.hasTop()) {
      row = cells.readEvent(source);
      if (filter.matches(cells)) {
        events.add();
        if (events.count() == MOST) {
          group();
        }
      }
      boolean hasFound = table.events() + events.count() > 0;
      boolean isLate = System.nanoTime() - begin > (hasFound ? StatsOptions.NANOS : Heartbeat.NANOS);
      if (isLate || table.bytes() > mostBytes) {
        answer(row);
        return;
      }
    }
    if (table.events() + events.count() > 0) {
      answer(row);
    }
  }

  private void group() throws IOException {
    if (events.count() > 0) {
      Arrays.setAll(rows, i -> i);
      table.add(events, rows, events.count());
      events.clear();
    }
  }

  /** Answers with the groups so far, or with a heartbeat if there are none. */
  private void answer(Key row) throws IOException {
    group();
    topKey = row;
    topValue = table.events() > 0 ? new Value(table.takeAnswer(), false) : Heartbeat.value();
  }

  @Override
  public SortedKeyValueIterator<Key, Value> deepCopy(IteratorEnvironment environment) {
    CellStatsIterator copy = new CellStatsIterator();
    copy.init(source.deepCopy(environment), options, environment);
    return copy;
  }
}

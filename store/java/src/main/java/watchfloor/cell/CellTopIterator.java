package watchfloor.cell;

import java.io.IOException;
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
import watchfloor.iterators.BigEndian;
import watchfloor.iterators.EventOptions;
import watchfloor.iterators.Heartbeat;
import watchfloor.iterators.SortOptions;
import watchfloor.iterators.StatsOptions;
import watchfloor.iterators.filter.FilterProgram;
import watchfloor.iterators.filter.ValueSet;
import watchfloor.iterators.filter.ValueSets;
import watchfloor.sorting.SortKey;
import watchfloor.sorting.SortProgram;
import watchfloor.sorting.TopRows;

/**
 * Gives the first events, in the order of some fields, of those that satisfy a filter, as the block layout's iterator
 * does. The row of an event is that of its cells, and an answer's key is the row of the last event that it covers.
 */
public class CellTopIterator extends AnswerIterator {
  private Map<String, String> options;
  /** Kept as long as the filters that refer to them. */
  private List<ValueSet> sets;
  private SortedKeyValueIterator<Key, Value> source;
  private EventCells cells;
  private EventFilter filter;
  private List<SortProgram.Order> orders;
  private int[] slots;
  private TopRows top;
  private long mostBytes;
  private SortKey sortKey;

  @Override
  public void init(
      SortedKeyValueIterator<Key, Value> source, Map<String, String> options, IteratorEnvironment environment) {
    this.source = source;
    this.options = Map.copyOf(options);
    sets = ValueSets.load(options);
    cells = new EventCells();
    byte[] given = EventOptions.filter(options);
    filter = given == null ? EventFilter.all() : EventFilter.decode(given, cells);
    orders = SortOptions.orders(options);
    slots =
        orders.stream()
            .mapToInt(o -> o.kind() == FilterProgram.Kind.TIME ? cells.timeSlot() : cells.slot(o.name()))
            .toArray();
    cells.freeze();
    top = SortOptions.rows(options);
    mostBytes = StatsOptions.mostBytes(options);
    sortKey = SortOptions.key(options);
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
    Key last = null;
    while (source.hasTop()) {
      last = cells.readEvent(source);
      if (filter.matches(cells)) {
        offer(last.getRowData().getBackingArray());
      }
      boolean isLate = System.nanoTime() - begin > (top.size() > 0 ? StatsOptions.NANOS : Heartbeat.NANOS);
      if (isLate || top.bytes() > mostBytes) {
        answer(last);
        return;
      }
    }
    if (top.size() > 0) {
      answer(last);
    }
  }

  /** Offers the event whose cells were read. */
  private void offer(byte[] row) {
    sortKey.clear();
    for (int i = 0; i < slots.length; i++) {
      int length = cells.length(slots[i]);
      if (length < 0) {
        sortKey.addNull();
      } else {
        int offset = cells.offset(slots[i]);
        sortKey.addValue(cells.bytes(), offset, offset + length, orders.get(i).descending());
      }
    }
    sortKey.addTime(BigEndian.getLong(row, EventCells.SHARD_LENGTH));
    sortKey.addHash(BigEndian.getLong(row, EventCells.TIME_END));
    top.offer(sortKey, row);
  }

  /** Answers with the events so far, or with a heartbeat if there are none. */
  private void answer(Key last) {
    topKey = last;
    topValue = top.size() > 0 ? new Value(top.takeAnswer(), false) : Heartbeat.value();
  }

  @Override
  public SortedKeyValueIterator<Key, Value> deepCopy(IteratorEnvironment environment) {
    CellTopIterator copy = new CellTopIterator();
    copy.init(source.deepCopy(environment), options, environment);
    return copy;
  }
}

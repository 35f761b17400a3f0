package watchfloor.cell;

import java.io.IOException;
import java.util.List;
import java.util.Map;
import org.apache.accumulo.core.data.Key;
import org.apache.accumulo.core.data.Value;
import org.apache.accumulo.core.iterators.SortedKeyValueIterator;
import watchfloor.iterators.BigEndian;
import watchfloor.iterators.EventOptions;
import watchfloor.iterators.GatheringIterator;
import watchfloor.iterators.SortOptions;
import watchfloor.iterators.filter.FilterProgram;
import watchfloor.sorting.SortKey;
import watchfloor.sorting.SortProgram;
import watchfloor.sorting.TopRows;
import watchfloor.stats.PartialAnswer;

/**
 * Gives the first events, in the order of some fields, of those that satisfy a filter, as the block layout's iterator
 * does. The row of an event is that of its cells, and an answer's key is the row of the last event that it covers.
 */
public class CellTopIterator extends GatheringIterator {
  private final EventCells cells = new EventCells();
  private EventFilter filter;
  private List<SortProgram.Order> orders;
  private int[] slots;
  private TopRows top;
  private SortKey sortKey;

  @Override
  protected PartialAnswer prepare(Map<String, String> options) {
    byte[] given = EventOptions.filter(options);
    filter = given == null ? EventFilter.all() : EventFilter.decode(given, cells);
    orders = SortOptions.orders(options);
    slots =
        orders.stream()
            .mapToInt(o -> o.kind() == FilterProgram.Kind.TIME ? cells.timeSlot() : cells.slot(o.name()))
            .toArray();
    cells.freeze();
    top = SortOptions.rows(options);
    sortKey = SortOptions.key(options);
    return top;
  }

  @Override
  protected Key addNext(SortedKeyValueIterator<Key, Value> source) throws IOException {
    if (!source.hasTop()) {
      return null;
    }
    Key row = cells.readEvent(source);
    if (filter.matches(cells)) {
      offer(row.getRowData().getBackingArray());
    }
    return row;
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

  @Override
  protected GatheringIterator create() {
    return new CellTopIterator();
  }
}

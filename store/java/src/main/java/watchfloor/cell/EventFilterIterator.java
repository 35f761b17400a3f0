package watchfloor.cell;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.SortedMap;
import java.util.TreeMap;
import org.apache.accumulo.core.data.ByteSequence;
import org.apache.accumulo.core.data.Key;
import org.apache.accumulo.core.data.Range;
import org.apache.accumulo.core.data.Value;
import org.apache.accumulo.core.iterators.IteratorEnvironment;
import org.apache.accumulo.core.iterators.SortedKeyValueIterator;
import org.apache.accumulo.core.iterators.user.WholeRowIterator;
import watchfloor.iterators.AnswerKeys;
import watchfloor.iterators.BigEndian;
import watchfloor.iterators.EventOptions;
import watchfloor.iterators.Heartbeat;
import watchfloor.iterators.filter.ValueSet;
import watchfloor.iterators.filter.ValueSets;

/**
 * Gives one answer for each event that satisfies a filter, with the requested fields. Events that do not match never
 * leave the tablet server.
 *
 * <p>An answer's key is the row alone, as with {@link WholeRowIterator}, so a scan that was torn down is resumed with
 * the next row. This class reads rows itself: its parent copies every key and value of a row before it evaluates the
 * filter, and most of an event's cells are not needed.
 *
 * <p>An answer's value repeats {@code [u16 place in columns][u32 length][bytes]} for each wanted field that the event
 * has. A row of which the reader may see no cell is left out, and a hidden field counts as missing. A scan that finds
 * nothing for a while answers with a {@link Heartbeat}.
 */
public class EventFilterIterator extends WholeRowIterator {
  private static final byte[] EMPTY = new byte[0];

  private Map<String, String> options;
  /** Kept as long as the filters that refer to them. */
  private List<ValueSet> sets;
  private EventCells cells;
  private EventFilter program;
  private String[] columns;
  private int[] slots;
  private Key topKey;
  private Value topValue;

  @Override
  public void init(
      SortedKeyValueIterator<Key, Value> source, Map<String, String> options, IteratorEnvironment environment)
      throws IOException {
    super.init(source, options, environment);
    this.options = Map.copyOf(options);
    sets = ValueSets.load(options);
    cells = new EventCells();
    byte[] filter = EventOptions.filter(options);
    program = filter == null ? EventFilter.all() : EventFilter.decode(filter, cells);
    columns = EventOptions.columns(options);
    slots = new int[columns.length];
    for (int i = 0; i < slots.length; i++) {
      slots[i] = columns[i].equals(options.get(EventOptions.TIME)) ? cells.timeSlot() : cells.slot(columns[i]);
    }
    cells.freeze();
  }

  @Override
  public void seek(Range range, Collection<ByteSequence> families, boolean inclusive) throws IOException {
    topKey = null;
    topValue = null;
    Range left = AnswerKeys.left(range);
    if (left != null) {
      sourceIter.seek(left, families, inclusive);
      next();
    }
  }

  @Override
  public void next() throws IOException {
    topKey = null;
    topValue = null;
    long begin = System.nanoTime();
    while (sourceIter.hasTop()) {
      Key row = cells.readEvent(sourceIter);
      if (program.matches(cells)) {
        topKey = row;
        topValue = encode();
        return;
      }
      if (System.nanoTime() - begin > Heartbeat.NANOS) {
        topKey = row;
        topValue = Heartbeat.value();
        return;
      }
    }
  }

  /** Returns the wanted fields of the current event as an answer's value. */
  private Value encode() {
    int size = 0;
    for (int slot : slots) {
      size += cells.length(slot) < 0 ? 0 : AnswerKeys.FIELD_HEADER + cells.length(slot);
    }
    byte[] out = new byte[size];
    byte[] bytes = cells.bytes();
    int at = 0;
    for (int i = 0; i < slots.length; i++) {
      int length = cells.length(slots[i]);
      if (length >= 0) {
        BigEndian.putShort(out, at, i);
        BigEndian.putInt(out, at + Short.BYTES, length);
        System.arraycopy(bytes, cells.offset(slots[i]), out, at + AnswerKeys.FIELD_HEADER, length);
        at += AnswerKeys.FIELD_HEADER + length;
      }
    }
    return new Value(out, false);
  }

  @Override
  public boolean hasTop() {
    return topKey != null;
  }

  @Override
  public Key getTopKey() {
    return topKey;
  }

  @Override
  public Value getTopValue() {
    return topValue;
  }

  @Override
  public SortedKeyValueIterator<Key, Value> deepCopy(IteratorEnvironment environment) {
    EventFilterIterator copy = new EventFilterIterator();
    try {
      copy.init(sourceIter.deepCopy(environment), options, environment);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
    return copy;
  }

  /** Returns the wanted cells of a row as one value, whether the filter accepts them or not. */
  @Override
  public Value rowEncoder(List<Key> keys, List<Value> values) {
    cells.begin(keys.get(0));
    for (int i = 0; i < keys.size(); i++) {
      cells.offer(keys.get(i), values.get(i));
    }
    return encode();
  }

  /** Returns the cells of an answer, without their visibilities and timestamps. */
  @Override
  public SortedMap<Key, Value> rowDecoder(Key rowKey, Value rowValue) {
    SortedMap<Key, Value> out = new TreeMap<>();
    byte[] bytes = rowValue.get();
    for (int at = 0; at < bytes.length; ) {
      byte[] name = columns[BigEndian.getUnsignedShort(bytes, at)].getBytes(StandardCharsets.UTF_8);
      int length = BigEndian.getInt(bytes, at + Short.BYTES);
      at += AnswerKeys.FIELD_HEADER;
      Key key = new Key(rowKey.getRowData().toArray(), EMPTY, name, EMPTY, Long.MAX_VALUE, false, false);
      out.put(key, new Value(bytes, at, length));
      at += length;
    }
    return out;
  }

  @Override
  public IteratorOptions describeOptions() {
    return EventOptions.describe("one entry for each event that satisfies a filter, with the wanted fields");
  }

  @Override
  public boolean validateOptions(Map<String, String> options) {
    EventOptions.check(options);
    return true;
  }
}

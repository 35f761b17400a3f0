package watchfloor.iterators;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.Base64;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.SortedMap;
import java.util.TreeMap;
import org.apache.accumulo.core.data.ByteSequence;
import org.apache.accumulo.core.data.Key;
import org.apache.accumulo.core.data.PartialKey;
import org.apache.accumulo.core.data.Range;
import org.apache.accumulo.core.data.Value;
import org.apache.accumulo.core.iterators.IteratorEnvironment;
import org.apache.accumulo.core.iterators.SortedKeyValueIterator;
import org.apache.accumulo.core.iterators.user.WholeRowIterator;

/**
 * One entry for each event that satisfies a filter, with the fields that were asked for: what does not match never
 * leaves the tablet server.
 *
 * <p>As from {@link WholeRowIterator} an answer's key is the row alone, so a scan that is torn down goes on with the
 * next row. The reading of rows is our own: the parent copies every key and value of a row before it asks the filter,
 * and most of an event's cells are wanted by nobody.
 *
 * <p>An answer's value repeats {@code [u16 place in columns][u32 length][bytes]} for each wanted field that the event
 * has. A row of which the reader may see no cell does not appear; a field that is hidden is as missing.
 */
public class EventFilterIterator extends WholeRowIterator {
  /** Base64 of a {@link FilterProgram}; without it all events match. */
  public static final String FILTER = "filter";
  /** Names of the wanted fields, separated by {@link #SEPARATOR}; without it the rows alone are wanted. */
  public static final String COLUMNS = "columns";
  /** Name of the time field, so that it can be among the columns. */
  public static final String TIME = "time";

  public static final String SEPARATOR = "\u001F";

  private static final int CELL_HEADER = Short.BYTES + Integer.BYTES;

  private static final byte[] EMPTY = new byte[0];

  private Map<String, String> options;
  private EventCells cells;
  private FilterProgram program;
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
    cells = new EventCells();
    String filter = options.get(FILTER);
    program =
        filter == null ? FilterProgram.all() : FilterProgram.decode(Base64.getDecoder().decode(filter), cells);
    String names = options.get(COLUMNS);
    columns = names == null || names.isEmpty() ? new String[0] : names.split(SEPARATOR, -1);
    slots = new int[columns.length];
    for (int i = 0; i < slots.length; i++) {
      slots[i] = columns[i].equals(options.get(TIME)) ? cells.timeSlot() : cells.slot(columns[i]);
    }
    cells.freeze();
  }

  @Override
  public void seek(Range range, Collection<ByteSequence> families, boolean inclusive) throws IOException {
    topKey = null;
    topValue = null;
    Key start = range.getStartKey();
    Range wanted = range;
    if (start != null && !range.isStartKeyInclusive() && isAnswer(start)) {
      Key following = start.followingKey(PartialKey.ROW);
      if (range.getEndKey() != null && following.compareTo(range.getEndKey()) > 0) {
        return;
      }
      wanted = new Range(following, true, range.getEndKey(), range.isEndKeyInclusive());
    }
    sourceIter.seek(wanted, families, inclusive);
    next();
  }

  /** Whether a key is one that this iterator has made: a row and nothing else. */
  private static boolean isAnswer(Key key) {
    return key.getTimestamp() == Long.MAX_VALUE
        && key.getColumnFamilyData().length() == 0
        && key.getColumnQualifierData().length() == 0
        && key.getColumnVisibilityData().length() == 0;
  }

  @Override
  public void next() throws IOException {
    topKey = null;
    topValue = null;
    while (sourceIter.hasTop()) {
      Key first = sourceIter.getTopKey();
      Key row = rowKey(first);
      cells.begin(first);
      Key key = first;
      do {
        cells.offer(key, sourceIter.getTopValue());
        sourceIter.next();
        key = sourceIter.hasTop() ? sourceIter.getTopKey() : null;
      } while (key != null && key.equals(row, PartialKey.ROW));
      if (program.matches(cells)) {
        topKey = row;
        topValue = encode();
        return;
      }
    }
  }

  private static Key rowKey(Key key) {
    return new Key(key.getRowData().toArray(), EMPTY, EMPTY, EMPTY, Long.MAX_VALUE, false, false);
  }

  private Value encode() {
    int size = 0;
    for (int slot : slots) {
      size += cells.length(slot) < 0 ? 0 : CELL_HEADER + cells.length(slot);
    }
    byte[] out = new byte[size];
    byte[] bytes = cells.bytes();
    int at = 0;
    for (int i = 0; i < slots.length; i++) {
      int length = cells.length(slots[i]);
      if (length >= 0) {
        Bytes.putShort(out, at, i);
        Bytes.putInt(out, at + Short.BYTES, length);
        System.arraycopy(bytes, cells.offset(slots[i]), out, at + CELL_HEADER, length);
        at += CELL_HEADER + length;
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

  /** The wanted cells of a row as one value, whether the filter accepts them or not. */
  @Override
  public Value rowEncoder(List<Key> keys, List<Value> values) {
    cells.begin(keys.get(0));
    for (int i = 0; i < keys.size(); i++) {
      cells.offer(keys.get(i), values.get(i));
    }
    return encode();
  }

  /** The cells within an answer, without the visibilities and timestamps that they had. */
  @Override
  public SortedMap<Key, Value> rowDecoder(Key rowKey, Value rowValue) {
    SortedMap<Key, Value> out = new TreeMap<>();
    byte[] bytes = rowValue.get();
    for (int at = 0; at < bytes.length; ) {
      byte[] name = columns[Bytes.getUnsignedShort(bytes, at)].getBytes(StandardCharsets.UTF_8);
      int length = Bytes.getInt(bytes, at + Short.BYTES);
      at += CELL_HEADER;
      Key key = new Key(rowKey.getRowData().toArray(), EMPTY, name, EMPTY, Long.MAX_VALUE, false, false);
      out.put(key, new Value(bytes, at, length));
      at += length;
    }
    return out;
  }

  @Override
  public IteratorOptions describeOptions() {
    return new IteratorOptions(
        "events",
        "one entry for each event that satisfies a filter, with the fields that were asked for",
        Map.of(
            FILTER, "base64 of a filter program; without it all events match",
            COLUMNS, "names of the wanted fields, separated by U+001F",
            TIME, "name of the time field, which has no cell"),
        null);
  }

  @Override
  public boolean validateOptions(Map<String, String> options) {
    String filter = options.get(FILTER);
    if (filter != null) {
      FilterProgram.check(Base64.getDecoder().decode(filter));
    }
    return true;
  }
}

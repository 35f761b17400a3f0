package watchfloor.cell;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.apache.accumulo.core.data.ByteSequence;
import org.apache.accumulo.core.data.Key;
import org.apache.accumulo.core.data.PartialKey;
import org.apache.accumulo.core.data.Value;
import org.apache.accumulo.core.iterators.SortedKeyValueIterator;
import watchfloor.iterators.AnswerKeys;
import watchfloor.iterators.BigEndian;

/**
 * Holds the cells of one event that a filter or a result needs, copied from the row while it is read.
 *
 * <p>A needed field has a slot. Cells of a row come sorted by qualifier, so a cursor over the sorted names finds their
 * slots without hashing. Their bytes go into one buffer that is used again for every row, so a row that does not match
 * costs no allocation.
 */
final class EventCells {
  /** The position of the reversed time in an event's row ID, after the shard, and the position of its end. */
  static final int SHARD_LENGTH = 4;
  static final int TIME_END = SHARD_LENGTH + Long.BYTES;

  private static final int TIME_SLOT = 0;

  private final List<byte[]> names = new ArrayList<>(List.of(new byte[0]));
  private boolean timeNeeded;
  private byte[][] sorted;
  private int[] sortedSlots;
  private int[] offsets;
  private int[] lengths;
  private byte[] bytes = new byte[4096];
  private int used;
  private int cursor;

  /** Returns the slot of a field, a new one if it has none yet. May be called before {@link #freeze} only. */
  int slot(String name) {
    byte[] raw = name.getBytes(StandardCharsets.UTF_8);
    for (int i = 1; i < names.size(); i++) {
      if (Arrays.equals(names.get(i), raw)) {
        return i;
      }
    }
    names.add(raw);
    return names.size() - 1;
  }

  /** Returns the slot of the time field, whose value is in the row ID and not in a cell. */
  int timeSlot() {
    timeNeeded = true;
    return TIME_SLOT;
  }

  /** Ends the allocation of slots. */
  void freeze() {
    Integer[] order = new Integer[names.size() - 1];
    Arrays.setAll(order, i -> i + 1);
    Arrays.sort(order, (a, b) -> Arrays.compareUnsigned(names.get(a), names.get(b)));
    sorted = new byte[order.length][];
    sortedSlots = new int[order.length];
    for (int i = 0; i < order.length; i++) {
      sorted[i] = names.get(order[i]);
      sortedSlots[i] = order[i];
    }
    offsets = new int[names.size()];
    lengths = new int[names.size()];
  }

  /** Reads the cells of the event at which a source stands, and returns the key of an answer whose last event it is. */
  Key readEvent(SortedKeyValueIterator<Key, Value> source) throws IOException {
    Key first = source.getTopKey();
    Key row = AnswerKeys.key(first.getRowData().toArray());
    begin(first);
    Key key = first;
    do {
      offer(key, source.getTopValue());
      source.next();
      key = source.hasTop() ? source.getTopKey() : null;
    } while (key != null && key.equals(row, PartialKey.ROW));
    return row;
  }

  /** Begins a new row and forgets the cells of the last one. */
  void begin(Key first) {
    Arrays.fill(lengths, -1);
    used = 0;
    cursor = 0;
    if (timeNeeded) {
      ByteSequence row = first.getRowData();
      if (row.length() >= TIME_END) {
        long micros = Long.MAX_VALUE - BigEndian.getLong(row.getBackingArray(), row.offset() + SHARD_LENGTH);
        BigEndian.putLong(bytes, 0, micros ^ Long.MIN_VALUE);
        offsets[TIME_SLOT] = 0;
        lengths[TIME_SLOT] = Long.BYTES;
        used = Long.BYTES;
      }
    }
  }

  /** Takes the row's next cell, and keeps its value if it is needed. If a field has two cells, the first one counts. */
  void offer(Key key, Value value) {
    if (cursor == sorted.length || key.getColumnFamilyData().length() > 0) {
      return;
    }
    ByteSequence qualifier = key.getColumnQualifierData();
    byte[] raw = qualifier.getBackingArray();
    int from = qualifier.offset();
    int to = from + qualifier.length();
    do {
      byte[] name = sorted[cursor];
      int order = Arrays.compareUnsigned(raw, from, to, name, 0, name.length);
      if (order < 0) {
        return;
      }
      if (order == 0) {
        int slot = sortedSlots[cursor];
        if (lengths[slot] < 0) {
          keep(slot, value.get());
        }
        return;
      }
    } while (++cursor < sorted.length);
  }

  private void keep(int slot, byte[] value) {
    if (bytes.length - used < value.length) {
      bytes = Arrays.copyOf(bytes, Math.max(bytes.length * 2, used + value.length));
    }
    System.arraycopy(value, 0, bytes, used, value.length);
    offsets[slot] = used;
    lengths[slot] = value.length;
    used += value.length;
  }

  /** Returns the buffer that holds all values. It may be a different one after the next row. */
  byte[] bytes() {
    return bytes;
  }

  /** Returns the position of a field's value in {@link #bytes}. */
  int offset(int slot) {
    return offsets[slot];
  }

  /** Returns the length of a field's value; -1 if the event does not have the field. */
  int length(int slot) {
    return lengths[slot];
  }
}

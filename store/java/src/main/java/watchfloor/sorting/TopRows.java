package watchfloor.sorting;

import java.util.Arrays;
import watchfloor.stats.PartialAnswer;
import watchfloor.stats.StatsWriter;

/**
 * Keeps the events of the least sort keys among those that are offered: never more than {@code most}.
 *
 * <p>An answer has the form, little-endian: <pre>
 * u32 events | u32 length of a row | events × u32 lengths of keys | keys | rows
 * </pre>
 */
public final class TopRows implements PartialAnswer {
  private final int most;
  /** Only events after this key are wanted; null: all. */
  private final byte[] after;
  /** Only events before this key are wanted; null: all. */
  private byte[] bound;

  // A heap with the greatest key first.
  private byte[][] keys = new byte[16][];
  private byte[][] rows = new byte[16][];
  private int size;
  private long bytes;

  public TopRows(int most, byte[] after, byte[] bound) {
    this.most = most;
    this.after = after;
    this.bound = bound;
  }

  /** Returns a key that those of all wanted events are before; null if there is none. It changes as events are offered. */
  public byte[] bound() {
    return bound;
  }

  @Override
  public boolean isEmpty() {
    return size == 0;
  }

  @Override
  public long bytes() {
    return bytes;
  }

  /** Returns whether an event may be wanted, as far as its key is written by now. */
  public boolean wants(SortKey begun) {
    return bound == null || compareBeginnings(begun, bound) <= 0;
  }

  /** Takes an event by its whole key, if it is wanted. {@code row} must not change. */
  public void offer(SortKey key, byte[] row) {
    if (bound != null && compare(key, bound) >= 0 || after != null && compare(key, after) <= 0) {
      return;
    }
    byte[] kept = key.toByteArray();
    bytes += kept.length;
    if (size < most) {
      if (size == keys.length) {
        keys = Arrays.copyOf(keys, (int) Math.min(most, size * 2L));
        rows = Arrays.copyOf(rows, keys.length);
      }
      rise(size++, kept, row);
    } else {
      bytes -= keys[0].length;
      sink(kept, row);
    }
    if (size == most) {
      bound = keys[0];
    }
  }

  private static int compare(SortKey key, byte[] other) {
    return Arrays.compareUnsigned(key.bytes(), 0, key.size(), other, 0, other.length);
  }

  private static int compareBeginnings(SortKey begun, byte[] other) {
    int length = Math.min(begun.size(), other.length);
    return Arrays.compareUnsigned(begun.bytes(), 0, length, other, 0, length);
  }

  private void rise(int at, byte[] key, byte[] row) {
    while (at > 0 && Arrays.compareUnsigned(keys[(at - 1) / 2], key) < 0) {
      put(at, keys[(at - 1) / 2], rows[(at - 1) / 2]);
      at = (at - 1) / 2;
    }
    put(at, key, row);
  }

  /** Puts an event in the place of that of the greatest key. */
  private void sink(byte[] key, byte[] row) {
    int at = 0;
    while (2 * at + 1 < size) {
      int child = 2 * at + 1;
      if (child + 1 < size && Arrays.compareUnsigned(keys[child + 1], keys[child]) > 0) {
        child++;
      }
      if (Arrays.compareUnsigned(keys[child], key) <= 0) {
        break;
      }
      put(at, keys[child], rows[child]);
      at = child;
    }
    put(at, key, row);
  }

  private void put(int at, byte[] key, byte[] row) {
    keys[at] = key;
    rows[at] = row;
  }

  /** Returns the answer with the events that are kept, and forgets them; the bound stays. */
  @Override
  public byte[] takeAnswer() {
    StatsWriter out = new StatsWriter();
    out.putInt(size);
    out.putInt(size == 0 ? 0 : rows[0].length);
    for (int i = 0; i < size; i++) {
      out.putInt(keys[i].length);
    }
    for (int i = 0; i < size; i++) {
      out.put(keys[i], 0, keys[i].length);
    }
    for (int i = 0; i < size; i++) {
      out.put(rows[i], 0, rows[i].length);
    }
    Arrays.fill(keys, 0, size, null);
    Arrays.fill(rows, 0, size, null);
    size = 0;
    bytes = 0;
    return out.toByteArray();
  }
}

package watchfloor.block;

import java.io.IOException;
import java.util.List;
import watchfloor.block.vector.RowValues;
import watchfloor.iterators.filter.FilterProgram;
import watchfloor.sorting.SortKey;
import watchfloor.sorting.SortProgram;
import watchfloor.sorting.TopRows;

/** Writes the sort keys of the events of the block at which a scan stands, and offers them to a {@link TopRows}. */
final class BlockSortKeys {
  private static final String FILE = "\u0001file";
  private static final String OFFSET = "\u0001offset";
  /** The hash of an event whose file or offset the reader may not see, as in Python's {@code encoding/keys.py}. */
  private static final long UNKNOWN_HASH = 0;

  private final List<SortProgram.Order> orders;
  private final Block block;
  private final int[] slots;
  private final int time;
  private final int file;
  private final int offset;
  private final RowValues[] values;
  private final RowValues times = new RowValues();
  private final RowValues files = new RowValues();
  private final RowValues offsets = new RowValues();
  private final SortKey key;

  /** Allocates the slots that are needed in {@code block}. */
  BlockSortKeys(List<SortProgram.Order> orders, String timeField, SortKey key, Block block) {
    this.orders = orders;
    this.key = key;
    this.block = block;
    slots = orders.stream().mapToInt(order -> block.slot(order.name())).toArray();
    time = block.slot(timeField);
    file = block.slot(FILE);
    offset = block.slot(OFFSET);
    values = new RowValues[slots.length];
    for (int i = 0; i < slots.length; i++) {
      values[i] = new RowValues();
    }
  }

  /** Returns the slot of the first field. */
  int firstSlot() {
    return slots[0];
  }

  boolean isFirstTime() {
    return orders.get(0).kind() == FilterProgram.Kind.TIME;
  }

  boolean isFirstDescending() {
    return orders.get(0).descending();
  }

  /**
   * Returns whether an event of the block may be before the one with a key if both have the same first value. Events that
   * are equal in all fields come newest first.
   */
  boolean mayBeBefore(byte[] other) {
    // Suffixes of other sources have other lengths, so a key that has one does not tell its time.
    return orders.size() > 1 || key.hasSuffix() || block.times().newest() >= SortKey.time(other);
  }

  /** Offers the events in the first {@code count} rows, and overwrites these. */
  void offer(TopRows top, int[] rows, int count) throws IOException {
    if (block.vector(time) == null) {
      return; // an event whose time is hidden is not seen
    }
    int kept = 0;
    begin(rows, count);
    for (int at = 0; at < count; at++) {
      write(at);
      rows[kept] = rows[at];
      kept += top.wants(key) ? 1 : 0;
    }
    if (kept == 0) {
      return;
    }
    // The hash needs two more columns, so it is computed for these few rows alone.
    begin(rows, kept);
    files.begin(block.vector(file), rows, kept);
    offsets.begin(block.vector(offset), rows, kept);
    for (int at = 0; at < kept; at++) {
      write(at);
      key.addHash(hash(at));
      top.offer(key, block.row());
    }
  }

  private void begin(int[] rows, int count) throws IOException {
    for (int i = 0; i < slots.length; i++) {
      values[i].begin(block.vector(slots[i]), rows, count);
    }
    times.begin(block.vector(time), rows, count);
  }

  /** Begins the key of the event at a position: all but its hash. */
  private void write(int at) {
    key.clear();
    for (int i = 0; i < values.length; i++) {
      values[i].addTo(key, at, orders.get(i).descending());
    }
    key.addTime(Long.MAX_VALUE - (times.leading(at) ^ Long.MIN_VALUE));
  }

  /** Returns the hash of an event, as Python's {@code mix_hashes} computes it. */
  private long hash(int at) {
    if (files.isNull(at) || offsets.isNull(at)) {
      return UNKNOWN_HASH;
    }
    long x = (offsets.leading(at) ^ Long.MIN_VALUE) * 0x9E3779B97F4A7C15L + files.leading(at);
    x = (x ^ (x >>> 30)) * 0xBF58476D1CE4E5B9L;
    x = (x ^ (x >>> 27)) * 0x94D049BB133111EBL;
    return x ^ (x >>> 31);
  }
}

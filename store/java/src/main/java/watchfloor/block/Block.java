package watchfloor.block;

import java.io.IOException;
import java.util.Arrays;
import java.util.Collection;
import java.util.Set;
import org.apache.accumulo.core.data.ArrayByteSequence;
import org.apache.accumulo.core.data.ByteSequence;
import org.apache.accumulo.core.data.Key;
import org.apache.accumulo.core.data.PartialKey;
import org.apache.accumulo.core.data.Range;
import org.apache.accumulo.core.data.Value;
import org.apache.accumulo.core.iterators.SortedKeyValueIterator;
import watchfloor.block.hot.HotBlock;
import watchfloor.block.hot.HotBlocks;
import watchfloor.block.vector.FieldSlots;
import watchfloor.block.vector.StoredVector;
import watchfloor.block.vector.Vector;
import watchfloor.block.zone.RowTimes;
import watchfloor.block.zone.Zone;
import watchfloor.block.zone.Zones;
import watchfloor.iterators.AnswerKeys;

/**
 * Reads the block at which a scan stands: finds the cells that are asked for and reads no others.
 *
 * <p>A field that a filter or an answer may need has a slot. Cells are large, so a cell is found by a seek within the
 * row unless it is one of the next few. Needed cells that are passed on the way are kept. If a field has two cells, the
 * first one counts.
 *
 * <p>With {@link Zones}, the blocks after one without events that match are found by their zones, and their cells are
 * looked for only when they are opened. The block after one that matches probably matches too: it is found by its cells,
 * and so is the first one of a scan.
 */
final class Block {
  /** The number of cells that are passed one by one before a seek is faster. */
  private static final int STEPS_BEFORE_SEEK = 2;
  private static final byte[] EMPTY = new byte[0];
  /** The family of vectors. */
  private static final Collection<ByteSequence> VECTORS = Set.of(new ArrayByteSequence(EMPTY));

  private final FieldSlots slots = new FieldSlots();

  private SortedKeyValueIterator<Key, Value> source;
  private Range range;

  /** Null if blocks are found by their cells alone. */
  private Zones zones;
  /** Whether the block that was read last had events that match, as those before a scan are taken to have. */
  private boolean hasMatched = true;
  /** Whether the block was found by its zones, so that the source does not stand in its row yet. */
  private boolean isByZones;

  /** Null if blocks are read from the table alone. */
  private HotBlocks hotBlocks;
  /** What other scans have read of the block, and this one; null if blocks are read from the table alone. */
  private HotBlock hot;
  /** Whether this scan has read more of the block than was known. */
  private boolean isHotter;
  /** Whether the source has moved on from the first cell of the row. */
  private boolean hasMoved;

  // By slot: what is stored (null if there is nothing or it was not looked for), whether it was looked for, whether the
  // vector has been wrapped around it, and the vector.
  private StoredVector[] stored;
  private boolean[] known;
  private boolean[] wrapped;
  private Vector[] vectors;

  private byte[] row;
  private int rows;
  private final RowTimes times = new RowTimes();
  /** The source has passed all qualifiers from this one to its position. */
  private byte[] passedFrom;
  private final Vector first = new Vector("the first field");

  /** Returns the slot of a field, a new one if it has none yet. May be called before {@link #freeze} only. */
  int slot(String field) {
    return slots.add(field);
  }

  /** Ends the allocation of slots. */
  void freeze() {
    slots.freeze();
    int count = slots.size();
    stored = new StoredVector[count];
    known = new boolean[count];
    wrapped = new boolean[count];
    vectors = new Vector[count];
    Arrays.setAll(vectors, i -> new Vector("field " + slots.field(i)));
  }

  /** Has what other scans have read of a block used, and what this one reads kept. Called before the first seek. */
  void useHotBlocks(HotBlocks blocks) {
    hotBlocks = blocks;
  }

  /** Has blocks found by their zones. Called after {@link #freeze} and before the first seek. */
  void useZones(Zones zones) {
    this.zones = zones;
  }

  /** Returns the zone of a field to which {@code zones} leads. */
  Zone addZone(Zones zones, int slot) {
    return zones.add(slots.name(slot));
  }

  /** Goes to the begin of a range of a source. A null range is an empty one. */
  void seek(SortedKeyValueIterator<Key, Value> source, Range range) throws IOException {
    this.source = source;
    this.range = range;
    row = null;
    if (range != null && zones != null) {
      zones.begin(range);
    }
    if (range != null && !skips()) {
      source.seek(range, VECTORS, true);
    }
  }

  private boolean skips() {
    return zones != null && !hasMatched;
  }

  /** Says whether the block had events that match. */
  void setMatched(boolean matched) {
    hasMatched = matched;
  }

  /** Returns whether the block was found by its zones, and reads those that were added. */
  boolean readZones() throws IOException {
    if (isByZones) {
      zones.read();
    }
    return isByZones;
  }

  /** Returns the row after the present one, null if there is none. */
  private byte[] nextRow() throws IOException {
    isByZones = skips();
    if (isByZones) {
      return zones.next(row);
    }
    if (row != null) {
      leave(false);
    }
    boolean isThere = range != null && source.hasTop() && !range.afterEndKey(source.getTopKey());
    return isThere ? topRow() : null;
  }

  /** Moves to the next row and reads its times. Reads no cell yet. Returns false at the end of the range. */
  boolean next() throws IOException {
    keepHot();
    row = range == null ? null : nextRow();
    if (row == null) {
      range = null;
      return false;
    }
    times.read(row);
    Arrays.fill(stored, null);
    Arrays.fill(known, false);
    Arrays.fill(wrapped, false);
    hot = null;
    return true;
  }

  /**
   * Moves the source to the first entry after the row, or ends the range if it ends with the row. If {@code isBeyond},
   * the entry may lie behind the range.
   */
  private void leave(boolean isBeyond) throws IOException {
    Key after = range == null ? null : new Key(row).followingKey(PartialKey.ROW);
    if (after == null || (range.getEndKey() != null && after.compareTo(range.getEndKey()) >= 0)) {
      range = null;
      return;
    }
    for (int i = 0; hasMoved && i < STEPS_BEFORE_SEEK && inRow(); i++) {
      source.next();
    }
    if (inRow() || (isBeyond && !source.hasTop())) {
      source.seek(isBeyond ? new Range(after, true, null, false) : AnswerKeys.from(after, range), VECTORS, true);
    }
  }

  /** Returns what is known of the block at whose first cell the source stands; null if nothing may be known or kept. */
  private HotBlock findHot() {
    Key end = range.getEndKey();
    boolean isWhole = end == null || new Key(row).followingKey(PartialKey.ROW).compareTo(end) <= 0;
    return isWhole ? hotBlocks.open(row, source.getTopKey()) : null;
  }

  private void keepHot() {
    if (isHotter) {
      hotBlocks.keep(row, hot);
      isHotter = false;
    }
  }

  /**
   * Returns a row before which no further row of the scan comes: the next row of this tablet; null if there is none. A
   * row after the range's end says that the range has no further one; otherwise it may go on in the next tablet, where
   * the scan begins anew. The current row cannot be read any more.
   */
  byte[] following() throws IOException {
    keepHot();
    leave(true);
    if (range == null || !source.hasTop()) {
      return null;
    }
    if (range.afterEndKey(source.getTopKey())) {
      range = null;
    }
    return topRow();
  }

  private byte[] topRow() {
    return source.getTopKey().getRowData().toArray();
  }

  /** Returns whether the source stands in the current row. */
  private boolean inRow() {
    return AnswerKeys.isInRow(source, row);
  }

  /** Seeks a key. Returns false if it is after the range's end; the source is not moved then. */
  private boolean seekTo(Key key) throws IOException {
    return AnswerKeys.seek(source, key, range, VECTORS);
  }

  /**
   * Reads the first cell of the row, and from it the number of events. Returns false if the scan sees none of the row's
   * cells. Zones cannot be read any more.
   */
  boolean open() throws IOException {
    boolean isThere = !isByZones || seekTo(new Key(row));
    isByZones = false;
    if (!isThere || !atField()) {
      return false;
    }
    passedFrom = EMPTY;
    hasMoved = false;
    hot = hotBlocks == null ? null : findHot();
    rows = hot == null ? -1 : hot.rows();
    if (rows < 0) {
      rows = first.wrap(source.getTopValue().get()).rows();
      if (hot != null) {
        hot.setRows(rows);
      }
    }
    return true;
  }

  /** Returns whether the source stands at a field's cell of the current row. */
  private boolean atField() {
    return inRow() && source.getTopKey().getColumnFamilyData().length() == 0;
  }

  byte[] row() {
    return row;
  }

  /** Returns the number of events. */
  int rows() {
    return rows;
  }

  /** Returns the times of the block's events, which its row tells. */
  RowTimes times() {
    return times;
  }

  /** Returns the slots in the order of their cells. Reading them in this order is fastest. */
  int[] slotsInOrder() {
    return slots.inOrder();
  }

  /** Returns a field's vector; null if no event has the field or the reader may not see it. */
  Vector vector(int slot) throws IOException {
    if (cell(slot) == null) {
      return null;
    }
    if (!wrapped[slot]) {
      wrap(slot);
      if (vectors[slot].rows() != rows) {
        throw new IllegalStateException(
            "vector: field " + slots.field(slot) + " has " + vectors[slot].rows() + " rows, and its block has " + rows);
      }
      wrapped[slot] = true;
    }
    return vectors[slot];
  }

  /** Reads a vector's header. One that is damaged is not kept: the table may have a good one the next time. */
  private void wrap(int slot) {
    try {
      vectors[slot].wrap(stored[slot]);
      isHotter |= hot != null && stored[slot].isGrowing();
    } catch (IllegalStateException e) {
      if (hot != null) {
        hot.remove(slots.field(slot));
      }
      throw e;
    }
  }

  /** Returns the stored bytes of a field's vector; null where {@link #vector} is. */
  byte[] stored(int slot) throws IOException {
    StoredVector cell = cell(slot);
    return cell == null ? null : cell.bytes();
  }

  private StoredVector cell(int slot) throws IOException {
    if (!known[slot]) {
      find(slot);
    }
    return stored[slot];
  }

  /** Looks for a field's cell, and keeps the needed cells that it passes. */
  private void find(int slot) throws IOException {
    StoredVector read = hot == null ? null : hot.get(slots.field(slot));
    if (read == null) {
      seekCell(slot);
    } else if (read != StoredVector.NONE) {
      stored[slot] = read;
    }
    known[slot] = true;
  }

  private void seekCell(int slot) throws IOException {
    byte[] name = slots.name(slot);
    boolean within = Arrays.compareUnsigned(name, passedFrom) >= 0 || begin(name);
    for (int steps = 0; within && atField(); steps++) {
      ByteSequence qualifier = source.getTopKey().getColumnQualifierData();
      keep(qualifier);
      if (FieldSlots.compare(qualifier, name) >= 0) {
        break;
      }
      if (steps < STEPS_BEFORE_SEEK) {
        source.next();
        hasMoved = true;
      } else {
        within = begin(name);
      }
    }
    if (!known[slot]) {
      remember(slot, StoredVector.NONE);
    }
  }

  /** Has what was read of a field known to other scans. */
  private void remember(int slot, StoredVector vector) {
    if (hot != null) {
      hot.put(slots.field(slot), vector);
      isHotter = true;
    }
  }

  /**
   * Seeks a cell within the row, so that the cells before it are not read. Returns false if the range ends before it.
   */
  private boolean begin(byte[] name) throws IOException {
    if (!seekTo(new Key(row, EMPTY, name, EMPTY, Long.MAX_VALUE, false, false))) {
      return false;
    }
    passedFrom = name;
    hasMoved = true;
    return true;
  }

  /** Keeps the bytes of the cell at which the source stands if it is the first one of a field with a slot. */
  private void keep(ByteSequence qualifier) {
    int slot = slots.find(qualifier);
    if (slot >= 0 && !known[slot]) {
      // A source makes a new array for each value, so this one does not change when the source moves on.
      stored[slot] = new StoredVector(source.getTopValue().get(), hot != null);
      known[slot] = true;
      remember(slot, stored[slot]);
    }
  }
}

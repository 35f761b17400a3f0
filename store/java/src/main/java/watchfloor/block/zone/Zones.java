package watchfloor.block.zone;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.Collection;
import java.util.Map;
import java.util.Set;
import java.util.SortedMap;
import java.util.TreeMap;
import org.apache.accumulo.core.data.ArrayByteSequence;
import org.apache.accumulo.core.data.ByteSequence;
import org.apache.accumulo.core.data.Key;
import org.apache.accumulo.core.data.PartialKey;
import org.apache.accumulo.core.data.Range;
import org.apache.accumulo.core.data.Value;
import org.apache.accumulo.core.iterators.IteratorEnvironment;
import org.apache.accumulo.core.iterators.SortedKeyValueIterator;
import watchfloor.iterators.AnswerKeys;

/**
 * Goes from block to block by their zones, which stand in a locality group of their own: no vector is read or passed.
 *
 * <p>Each vector's cell has a zone's cell of the same label beside it, so a reader sees a row here if and only if it sees
 * cells of the block.
 */
public final class Zones {
  /** The property of a table that says that all its blocks have zones. */
  private static final String PROPERTY = "zones";

  private static final byte[] FAMILY = "zone".getBytes(StandardCharsets.UTF_8);
  private static final Collection<ByteSequence> FAMILIES = Set.of(new ArrayByteSequence(FAMILY));
  private static final byte[] EMPTY = new byte[0];
  /** The number of cells that are passed one by one before a seek is faster. */
  private static final int STEPS_BEFORE_SEEK = 8;

  private SortedKeyValueIterator<Key, Value> source;
  /** The zones that are read, by the names of their fields. */
  private final SortedMap<byte[], Zone> zones = new TreeMap<>(Arrays::compareUnsigned);

  private Range range;
  private byte[] row;
  private boolean isRead;

  /** Sets an iterator over the table that nobody else uses. */
  public void setSource(SortedKeyValueIterator<Key, Value> source) {
    this.source = source;
  }

  /** Returns whether all blocks of the table that a scan reads have zones. */
  public static boolean areWritten(IteratorEnvironment environment) {
    String written = environment.getPluginEnv().getConfiguration(environment.getTableId()).getTableCustom(PROPERTY);
    return Boolean.parseBoolean(written);
  }

  /** Adds a field, and returns its zone, which is that of the block at which this stands once {@link #read} was called. */
  public Zone add(byte[] name) {
    return zones.computeIfAbsent(name, any -> new Zone("field " + new String(name, StandardCharsets.UTF_8)));
  }

  /** Begins a range. */
  public void begin(Range range) {
    this.range = range;
    row = null;
  }

  /** Goes to the first block after a row, or of the range if it is null; returns its row, null if there is none. */
  public byte[] next(byte[] after) throws IOException {
    boolean isThere = true;
    if (after == null) {
      source.seek(range, FAMILIES, true);
    } else {
      boolean isNear = Arrays.equals(after, row);
      for (int i = 0; isNear && i < STEPS_BEFORE_SEEK && inRow(); i++) {
        source.next();
      }
      isThere = isNear && !inRow() || seekTo(new Key(after).followingKey(PartialKey.ROW));
    }
    row = isThere && source.hasTop() ? source.getTopKey().getRowData().toArray() : null;
    isRead = false;
    return row;
  }

  /** Reads the zones of the block. */
  public void read() throws IOException {
    if (!isRead) {
      for (Map.Entry<byte[], Zone> zone : zones.entrySet()) {
        zone.getValue().wrap(find(zone.getKey()));
      }
      isRead = true;
    }
  }

  /** Returns a field's zone in the row, whose cells before it may have been passed; null if there is none. */
  private byte[] find(byte[] name) throws IOException {
    for (int steps = 0; inRow(); steps++) {
      ByteSequence qualifier = source.getTopKey().getColumnQualifierData();
      int from = qualifier.offset();
      int order =
          Arrays.compareUnsigned(
              qualifier.getBackingArray(), from, from + qualifier.length(), name, 0, name.length);
      if (order >= 0) {
        return order == 0 ? source.getTopValue().get() : null;
      }
      if (steps < STEPS_BEFORE_SEEK) {
        source.next();
      } else if (!seekTo(new Key(row, FAMILY, name, EMPTY, Long.MAX_VALUE, false, false))) {
        return null;
      }
    }
    return null;
  }

  private boolean inRow() {
    return AnswerKeys.isInRow(source, row);
  }

  /** Seeks a key. Returns false if it is after the range's end; the source is not moved then. */
  private boolean seekTo(Key key) throws IOException {
    return AnswerKeys.seek(source, key, range, FAMILIES);
  }
}

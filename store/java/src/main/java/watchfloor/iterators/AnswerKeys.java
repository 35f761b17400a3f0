package watchfloor.iterators;

import java.io.IOException;
import java.util.Arrays;
import java.util.Collection;
import org.apache.accumulo.core.data.ByteSequence;
import org.apache.accumulo.core.data.Key;
import org.apache.accumulo.core.data.PartialKey;
import org.apache.accumulo.core.data.Range;
import org.apache.accumulo.core.data.Value;
import org.apache.accumulo.core.iterators.SortedKeyValueIterator;

/**
 * The keys of answers, for iterators that give one answer per row. A key consists of the row alone, as
 * WholeRowIterator's does. A scan that was torn down is resumed after the row of its last answer.
 */
public final class AnswerKeys {
  /** The length of the header before each field's bytes in an answer's value: {@code [u16 column][u32 length]}. */
  public static final int FIELD_HEADER = Short.BYTES + Integer.BYTES;

  /** A value in place of a column's number. The bytes after it are a row, and no later answer has a row before it. */
  public static final int NEXT = 0xFFFF;

  private static final byte[] EMPTY = new byte[0];

  private AnswerKeys() {}

  /** Returns the key of the answer for a row. */
  public static Key key(byte[] row) {
    return new Key(row, EMPTY, EMPTY, EMPTY, Long.MAX_VALUE, false, false);
  }

  /**
   * Returns the part of a range that is left to scan, as its start may be the key of an answer; null if nothing is
   * left.
   */
  public static Range left(Range range) {
    Key start = range.getStartKey();
    return start == null || range.isStartKeyInclusive() || !isAnswer(start)
        ? range
        : from(start.followingKey(PartialKey.ROW), range);
  }

  private static boolean isAnswer(Key key) {
    return key.getTimestamp() == Long.MAX_VALUE
        && key.getColumnFamilyData().length() == 0
        && key.getColumnQualifierData().length() == 0
        && key.getColumnVisibilityData().length() == 0;
  }

  /** Returns the part of a range from a key on; null if the key is after the range's end. */
  public static Range from(Key start, Range range) {
    return range.getEndKey() != null && start.compareTo(range.getEndKey()) > 0
        ? null
        : new Range(start, true, range.getEndKey(), range.isEndKeyInclusive());
  }

  /** Seeks a key within a range. Returns false if the key is after the range's end; the source is not moved then. */
  public static boolean seek(
      SortedKeyValueIterator<Key, Value> source, Key start, Range range, Collection<ByteSequence> families)
      throws IOException {
    Range left = from(start, range);
    if (left == null) {
      return false;
    }
    source.seek(left, families, true);
    return true;
  }

  /** Returns whether a source stands in a row. */
  public static boolean isInRow(SortedKeyValueIterator<Key, Value> source, byte[] row) {
    if (!source.hasTop()) {
      return false;
    }
    ByteSequence data = source.getTopKey().getRowData();
    int from = data.offset();
    return Arrays.equals(data.getBackingArray(), from, from + data.length(), row, 0, row.length);
  }
}

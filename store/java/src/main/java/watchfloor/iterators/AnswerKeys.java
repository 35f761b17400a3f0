package watchfloor.iterators;

import org.apache.accumulo.core.data.Key;
import org.apache.accumulo.core.data.PartialKey;
import org.apache.accumulo.core.data.Range;

/**
 * What iterators that give one answer a row have in common: the answers' keys, which are a row and nothing else as
 * those of WholeRowIterator, and where a scan goes on that was torn down after one.
 */
public final class AnswerKeys {
  /** Before each field's bytes in an answer's value: {@code [u16 place in columns][u32 length]}. */
  public static final int FIELD_HEADER = Short.BYTES + Integer.BYTES;

  /** In the place of a column: the field is a row, and no answer after this one is of a row before it. */
  public static final int NEXT = 0xFFFF;

  private static final byte[] EMPTY = new byte[0];

  private AnswerKeys() {}

  /** The answer's key of the row that a key stands in. */
  public static Key key(byte[] row) {
    return new Key(row, EMPTY, EMPTY, EMPTY, Long.MAX_VALUE, false, false);
  }

  /** What is left of a range that may begin after an answer; null if nothing is. */
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

  /** The part of a range from a key on, null if the key is behind the range's end. */
  public static Range from(Key start, Range range) {
    return range.getEndKey() != null && start.compareTo(range.getEndKey()) > 0
        ? null
        : new Range(start, true, range.getEndKey(), range.isEndKeyInclusive());
  }
}

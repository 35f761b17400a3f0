package watchfloor.bridge.scan;

import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import org.apache.accumulo.core.data.Key;
import org.apache.accumulo.core.data.PartialKey;
import org.apache.accumulo.core.data.Range;
import watchfloor.bridge.columns.Batch;
import watchfloor.bridge.columns.ByteColumn;

/**
 * Reads half-open key ranges: of each start_row, start_qualifier, end_row and end_qualifier, as the columns of a batch
 * or packed.
 */
final class Ranges {
  private static final byte[] EMPTY = new byte[0];

  private Ranges() {}

  /** Returns the ranges of a batch, and releases the batch. */
  static List<Range> read(long arrayAddress, long schemaAddress) {
    try (Batch batch = new Batch(arrayAddress, schemaAddress)) {
      ByteColumn startRow = column(batch, "start_row");
      ByteColumn startQualifier = column(batch, "start_qualifier");
      ByteColumn endRow = column(batch, "end_row");
      ByteColumn endQualifier = column(batch, "end_qualifier");
      List<Range> ranges = new ArrayList<>(batch.rows());
      for (int i = 0; i < batch.rows(); i++) {
        ranges.add(
            range(value(startRow, i), value(startQualifier, i), value(endRow, i), value(endQualifier, i)));
      }
      return ranges;
    }
  }

  /** Returns ranges that are packed: four parts of each, with the length of each before it, -1 for none. */
  static List<Range> read(byte[] packed) {
    ByteBuffer parts = ByteBuffer.wrap(packed);
    List<Range> ranges = new ArrayList<>();
    while (parts.hasRemaining()) {
      ranges.add(range(next(parts), next(parts), next(parts), next(parts)));
    }
    return ranges;
  }

  private static byte[] next(ByteBuffer parts) {
    int length = parts.getInt();
    if (length < 0) {
      return null;
    }
    byte[] part = new byte[length];
    parts.get(part);
    return part;
  }

  private static ByteColumn column(Batch batch, String name) {
    ByteColumn column = batch.column(name);
    if (column == null) {
      throw new IllegalArgumentException("the ranges have no column named " + name);
    }
    return column;
  }

  private static byte[] value(ByteColumn column, int row) {
    return column.isNull(row) ? null : column.get(row);
  }

  private static Range range(byte[] startRow, byte[] startQualifier, byte[] endRow, byte[] endQualifier) {
    if (startQualifier == null && endQualifier == null) {
      Key start = startRow == null ? null : key(startRow, EMPTY);
      return new Range(start, true, endRow == null ? null : key(endRow, EMPTY), false);
    }
    if (startRow == null || endRow == null) {
      throw new IllegalArgumentException("a range of qualifiers needs a row");
    }
    Key start = key(startRow, startQualifier == null ? EMPTY : startQualifier);
    Key end =
        endQualifier == null ? key(endRow, EMPTY).followingKey(PartialKey.ROW_COLFAM) : key(endRow, endQualifier);
    return new Range(start, true, end, false);
  }

  private static Key key(byte[] row, byte[] qualifier) {
    return new Key(row, EMPTY, qualifier, EMPTY, Long.MAX_VALUE, false, false);
  }
}

package watchfloor.bridge;

import java.util.ArrayList;
import java.util.List;
import org.apache.accumulo.core.data.Key;
import org.apache.accumulo.core.data.PartialKey;
import org.apache.accumulo.core.data.Range;
import org.apache.arrow.c.ArrowArray;
import org.apache.arrow.c.ArrowSchema;
import org.apache.arrow.c.CDataDictionaryProvider;
import org.apache.arrow.c.Data;
import org.apache.arrow.vector.FieldVector;
import org.apache.arrow.vector.VectorSchemaRoot;

/** Half-open key ranges, read from a batch with the columns start_row, start_qualifier, end_row, end_qualifier. */
final class Ranges {
  private static final byte[] EMPTY = new byte[0];

  private Ranges() {}

  /** Takes the batch over and releases it. */
  static List<Range> read(long arrayAddress, long schemaAddress) {
    try (ArrowArray array = ArrowArray.wrap(arrayAddress);
        ArrowSchema schema = ArrowSchema.wrap(schemaAddress);
        CDataDictionaryProvider dictionaries = new CDataDictionaryProvider();
        VectorSchemaRoot root = Data.importVectorSchemaRoot(Connection.ALLOCATOR, array, schema, dictionaries)) {
      ByteColumn startRow = column(root, "start_row", dictionaries);
      ByteColumn startQualifier = column(root, "start_qualifier", dictionaries);
      ByteColumn endRow = column(root, "end_row", dictionaries);
      ByteColumn endQualifier = column(root, "end_qualifier", dictionaries);
      List<Range> ranges = new ArrayList<>(root.getRowCount());
      for (int i = 0; i < root.getRowCount(); i++) {
        ranges.add(
            range(value(startRow, i), value(startQualifier, i), value(endRow, i), value(endQualifier, i)));
      }
      return ranges;
    }
  }

  private static ByteColumn column(VectorSchemaRoot root, String name, CDataDictionaryProvider dictionaries) {
    FieldVector vector = root.getVector(name);
    if (vector == null) {
      throw new IllegalArgumentException("the ranges have no column named " + name);
    }
    return ByteColumn.of(vector, dictionaries);
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

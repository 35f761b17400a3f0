package watchfloor.cell;

import org.apache.accumulo.core.data.Key;
import org.apache.accumulo.core.data.Value;
import watchfloor.bridge.Connection;
import watchfloor.bridge.scan.EventSource;
import watchfloor.iterators.Answers;
import watchfloor.iterators.Bytes;

/** The events of rows of cells, as {@link EventFilterIterator} answers with them: one a row. */
public final class CellSource extends EventSource {
  public CellSource(
      Connection connection,
      String table,
      String[] authorizations,
      long rangesArrayAddress,
      long rangesSchemaAddress,
      String[] columns,
      String[] types,
      String[] options,
      int firstBatchRows,
      int batchRows,
      int requests,
      boolean ordered) {
    super(
        connection,
        table,
        authorizations,
        rangesArrayAddress,
        rangesSchemaAddress,
        columns,
        types,
        options,
        EventFilterIterator.class,
        firstBatchRows,
        batchRows,
        requests,
        ordered);
  }

  @Override
  protected void append(int at, Key key, Value answer) {
    row.set(at, key.getRowData());
    byte[] bytes = answer.get();
    for (int field = 0; field < bytes.length; ) {
      int length = Bytes.getInt(bytes, field + Short.BYTES);
      columns[Bytes.getUnsignedShort(bytes, field)].set(at, bytes, field + Answers.FIELD_HEADER, length);
      field += Answers.FIELD_HEADER + length;
    }
  }
}

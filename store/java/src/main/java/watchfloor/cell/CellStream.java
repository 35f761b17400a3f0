package watchfloor.cell;

import org.apache.accumulo.core.data.Key;
import org.apache.accumulo.core.data.Value;
import watchfloor.bridge.Connection;
import watchfloor.bridge.scan.EventStream;
import watchfloor.bridge.scan.ScanRequest;
import watchfloor.iterators.AnswerKeys;
import watchfloor.iterators.BigEndian;

/** An {@link EventStream} of the answers of {@link EventFilterIterator}, each of which is one event. */
public final class CellStream extends EventStream {
  public CellStream(Connection connection, ScanRequest request) {
    super(connection, request, EventFilterIterator.class);
  }

  @Override
  protected void append(int at, Key key, Value answer) {
    row.set(at, key.getRowData());
    byte[] bytes = answer.get();
    for (int field = 0; field < bytes.length; ) {
      int length = BigEndian.getInt(bytes, field + Short.BYTES);
      columns[BigEndian.getUnsignedShort(bytes, field)].set(at, bytes, field + AnswerKeys.FIELD_HEADER, length);
      field += AnswerKeys.FIELD_HEADER + length;
    }
  }
}

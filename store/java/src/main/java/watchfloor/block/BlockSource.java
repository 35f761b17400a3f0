package watchfloor.block;

import java.util.List;
import org.apache.accumulo.core.data.Key;
import org.apache.accumulo.core.data.Value;
import org.apache.arrow.vector.FieldVector;
import watchfloor.bridge.Connection;
import watchfloor.bridge.scan.EventSource;

/**
 * The events of blocks' answers: as an {@link EventSource}, with a row for each event. The column {@code row} has a
 * block's row at the first of its events and is null at the others. Blocks without the first wanted field are left out.
 * An ordered batch that more may follow tells by which row: see {@link EventSource#NEXT_ROW}.
 */
public final class BlockSource extends EventSource implements BlockAnswer.Cells {
  private final BlockAnswer answer;
  private final boolean ordered;
  private int events;

  public BlockSource(
      Connection connection,
      String table,
      String[] authorizations,
      long rangesArrayAddress,
      long rangesSchemaAddress,
      String[] columns,
      String[] types,
      String[] options,
      int firstBatchBlocks,
      int batchBlocks,
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
        BlockIterator.class,
        firstBatchBlocks,
        batchBlocks,
        requests,
        ordered);
    this.ordered = ordered;
    answer = new BlockAnswer(columns, this);
  }

  @Override
  public void bytes(int place, int event, byte[] bytes, int offset, int length) {
    columns[place].set(events + event, bytes, offset, length);
  }

  @Override
  public void number(int place, int event, long number, int bytes) {
    columns[place].set(events + event, number, bytes);
  }

  @Override
  protected void append(int at, Key key, Value value) {
    int found = answer.read(value.get());
    if (found > 0) {
      row.set(events, key.getRowData());
      events += found;
    }
  }

  @Override
  protected Key next() {
    byte[] next = answer.next();
    return next == null || !ordered ? null : new Key(next);
  }

  @Override
  protected List<FieldVector> take(int blocks) {
    int count = events;
    events = 0;
    return super.take(count);
  }
}

package watchfloor.block;

import java.util.List;
import org.apache.accumulo.core.data.Key;
import org.apache.accumulo.core.data.Value;
import org.apache.arrow.vector.FieldVector;
import watchfloor.bridge.Connection;
import watchfloor.bridge.scan.EventStream;
import watchfloor.bridge.scan.ScanRequest;
import watchfloor.iterators.EventOptions;

/**
 * An {@link EventStream} of the events in the answers of blocks, with a row for each event. The column {@code row}
 * holds a block's row at the first of its events and null at the others. Blocks without the first wanted field are left
 * out. A batch of an ordered scan has {@link EventStream#NEXT_ROW} in its metadata if more may follow.
 */
public final class BlockStream extends EventStream implements BlockAnswer.Cells {
  private final BlockAnswer answer;
  private final boolean ordered;
  /** Whether the first field is the time. */
  private final boolean isTimed;
  private int events;
  /** The time of the batch's oldest event. */
  private long oldest = Long.MAX_VALUE;

  public BlockStream(Connection connection, ScanRequest request) {
    super(connection, request, BlockIterator.class);
    ordered = request.flag("ordered");
    isTimed = fields.length > 0 && fields[0].equals(request.options("server").get(EventOptions.TIME));
    answer = new BlockAnswer(fields, this);
  }

  @Override
  public void bytes(int place, int event, byte[] bytes, int offset, int length) {
    columns[place].set(events + event, bytes, offset, length);
    if (place == 0) {
      oldest = Long.MIN_VALUE; // not known
    }
  }

  @Override
  public void number(int place, int event, long number, int bytes) {
    columns[place].set(events + event, number, bytes);
    if (place == 0) {
      oldest = Math.min(oldest, number ^ Long.MIN_VALUE);
    }
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
  protected boolean comeBefore(Key next) {
    return isTimed
        && next != null
        && oldest > Block.newest(next.getRowData().getBackingArray(), next.getRowData().offset());
  }

  @Override
  protected boolean heedsAnswers() {
    return true;
  }

  @Override
  protected int columnRows(int entries) {
    return events;
  }

  @Override
  protected int countEvents(Value answer) {
    return BlockAnswer.countEvents(answer.get());
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
    oldest = Long.MAX_VALUE;
    return super.take(count);
  }
}

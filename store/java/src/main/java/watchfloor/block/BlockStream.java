package watchfloor.block;

import java.util.List;
import java.util.stream.LongStream;
import org.apache.accumulo.core.data.Key;
import org.apache.accumulo.core.data.Value;
import org.apache.arrow.vector.FieldVector;
import watchfloor.block.zone.RowTimes;
import watchfloor.bridge.Connection;
import watchfloor.bridge.columns.EventKeys;
import watchfloor.bridge.scan.EventStream;
import watchfloor.bridge.scan.ScanRequest;
import watchfloor.iterators.BigEndian;

/**
 * An {@link EventStream} of the events in the answers of blocks, with a row for each event. The column {@code row}
 * holds a block's row at the first of its events and null at the others. Blocks without the first wanted field are left
 * out. A batch of an ordered scan has {@link EventStream#NEXT_ROW} in its metadata if more may follow.
 *
 * <p>The first three fields are the time, FILE and OFFSET; in place of the last two, batches have the events' keys.
 */
public final class BlockStream extends EventStream implements BlockAnswer.Cells {
  private static final int TIME = 0;
  private static final int FILE = 1;
  private static final int OFFSET = 2;

  private final BlockAnswer answer;
  private final boolean ordered;
  private EventKeys keys = new EventKeys();
  private int events;
  /** The times of the events that were handed over and may come after others that were not. */
  private long[] held = new long[0];

  public BlockStream(Connection connection, ScanRequest request) {
    super(connection, request, BlockIterator.class);
    ordered = request.flag("ordered");
    answer = new BlockAnswer(fields, this);
  }

  @Override
  public void bytes(int place, int event, byte[] bytes, int offset, int length) {
    if (place > OFFSET) {
      columns[place].set(events + event, bytes, offset, length);
    } else if (place == FILE) {
      keys.setFile(events + event, BigEndian.getLong(bytes, offset));
    } else {
      number(place, event, BigEndian.getLong(bytes, offset), length);
    }
  }

  @Override
  public void number(int place, int event, long number, int bytes) {
    if (place > OFFSET) {
      columns[place].set(events + event, number, bytes);
    } else if (place == TIME) {
      columns[place].set(events + event, number, bytes);
      keys.setTime(events + event, number ^ Long.MIN_VALUE);
    } else {
      keys.setOffset(events + event, number ^ Long.MIN_VALUE);
    }
  }

  @Override
  public void values(int place, int events, int[] which, int count, byte[] bytes, int[] starts) {
    if (place > OFFSET) {
      columns[place].setValues(this.events, events, which, count, bytes, starts);
    } else {
      BlockAnswer.Cells.super.values(place, events, which, count, bytes, starts);
    }
  }

  @Override
  public void numbers(int place, int events, int[] which, int count, long[] numbers, int bytes) {
    if (place > OFFSET) {
      columns[place].setNumbers(this.events, events, which, count, numbers, bytes);
    } else {
      BlockAnswer.Cells.super.numbers(place, events, which, count, numbers, bytes);
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
  protected int countReleased(Key next, int events) {
    if (next == null) {
      return 0;
    }
    long newest = time(next);
    return (int) LongStream.concat(LongStream.of(held), keys.times(events)).filter(time -> time > newest).count();
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
  protected boolean isPostponed(Key key, Value answer) {
    return BlockAnswer.isPostponed(key.getRowData(), answer.get());
  }

  @Override
  protected Key following(Value answer) {
    byte[] next = BlockAnswer.findNext(answer.get());
    return next == null ? null : new Key(next);
  }

  @Override
  protected long time(Key key) {
    return RowTimes.newest(key.getRowData().getBackingArray(), key.getRowData().offset());
  }

  @Override
  protected long span(Key key) {
    return RowTimes.span(key.getRowData().getBackingArray(), key.getRowData().offset());
  }

  @Override
  protected Key next() {
    byte[] next = answer.next();
    return next == null || !ordered ? null : new Key(next);
  }

  @Override
  protected List<FieldVector> take(int blocks) {
    columns[FILE] = keys.take(events);
    columns[OFFSET] = null;
    List<FieldVector> vectors = super.take(events);
    Key next = nextKey();
    long newest = next == null ? Long.MAX_VALUE : time(next);
    held = LongStream.concat(LongStream.of(held), keys.times(events)).filter(time -> time <= newest).toArray();
    events = 0;
    keys = new EventKeys();
    return vectors;
  }
}

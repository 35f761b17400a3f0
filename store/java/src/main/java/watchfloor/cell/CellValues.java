package watchfloor.cell;

import java.util.Arrays;
import watchfloor.iterators.BigEndian;
import watchfloor.iterators.expression.Column;
import watchfloor.iterators.expression.FieldValue;
import watchfloor.iterators.expression.FieldValues;

/** The values of one event's cells, for expressions: there is one row. */
final class CellValues implements FieldValues {
  private final EventCells cells;
  /** The starts and the ends of a list's elements; a null element has the end -1. */
  private int[] starts = new int[16];

  private int[] ends = new int[16];

  CellValues(EventCells cells) {
    this.cells = cells;
  }

  @Override
  public void read(FieldValue field, int[] rows, int count, Column into) {
    int length = cells.length(field.slot);
    int offset = cells.offset(field.slot);
    if (field.isList) {
      int elements = length < 0 ? 0 : split(offset, offset + length);
      Arrays.fill(into.beginElements(elements), 0, elements, 0);
      for (int i = 0; i < elements; i++) {
        set(into, i, starts[i], ends[i]);
      }
    } else {
      into.begin(1);
      set(into, 0, offset, length < 0 ? -1 : offset + length);
    }
  }

  /** Sets a value that is the bytes [from, to) of the event; a negative end stands for none. */
  private void set(Column into, int position, int from, int to) {
    if (to < 0) {
      into.setMissing(position);
    } else {
      into.set(position, cells.bytes(), from, to);
    }
  }

  @Override
  public void readLengths(int slot, int[] rows, int count, LengthSink into) {
    int length = cells.length(slot);
    if (length >= 0) {
      into.set(0, split(cells.offset(slot), cells.offset(slot) + length));
    }
  }

  /** Finds the elements of the list [from, to), and returns their number. */
  private int split(int from, int to) {
    byte[] bytes = cells.bytes();
    int elements = 0;
    for (int at = from; to - at >= Integer.BYTES; ) {
      int length = BigEndian.getInt(bytes, at);
      at += Integer.BYTES;
      if (length != EventFilter.NULL_ELEMENT && (length < 0 || length > to - at)) {
        throw new IllegalStateException("a list's element is longer than its cell");
      }
      if (elements == starts.length) {
        starts = Arrays.copyOf(starts, elements * 2);
        ends = Arrays.copyOf(ends, elements * 2);
      }
      starts[elements] = at;
      ends[elements++] = length < 0 ? -1 : at + length;
      at += Math.max(0, length);
    }
    return elements;
  }
}

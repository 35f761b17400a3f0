package watchfloor.cell;

import java.util.Arrays;
import watchfloor.iterators.BigEndian;
import watchfloor.stats.BytesDictionary;
import watchfloor.stats.StatsColumn;
import watchfloor.stats.StatsWriter;

/** The values of a field in some events, copied from their cells. */
final class CellColumn implements StatsColumn {
  private final StatsWriter values = new StatsWriter();
  private final BytesDictionary coded = new BytesDictionary();
  /** The start of each row's value in {@link #values}; of a list, the row of its first element. */
  private int[] starts = new int[256];
  private boolean[] nulls = new boolean[256];
  private int rows;
  /** Null if the values are no lists. */
  private final CellColumn elements;

  CellColumn(boolean isList) {
    elements = isList ? new CellColumn(false) : null;
  }

  void clear() {
    rows = 0;
    values.clear();
    if (elements != null) {
      elements.clear();
    }
  }

  /** Adds a row whose value is the bytes [from, to); a list is encoded as in {@link EventFilter}. */
  void add(byte[] bytes, int from, int to) {
    addStart(false);
    if (elements == null) {
      values.put(bytes, from, to);
    } else {
      for (int at = from; to - at >= Integer.BYTES; ) {
        int length = BigEndian.getInt(bytes, at);
        at += Integer.BYTES;
        if (length < 0) {
          elements.addNull();
        } else {
          if (length > to - at) {
            throw new IllegalStateException("a list's element is longer than its cell");
          }
          elements.add(bytes, at, at + length);
          at += length;
        }
      }
    }
    addEnd();
  }

  void addNull() {
    addStart(true);
    addEnd();
  }

  private void addStart(boolean isNull) {
    if (rows + 1 >= starts.length) {
      starts = Arrays.copyOf(starts, starts.length * 2);
      nulls = Arrays.copyOf(nulls, nulls.length * 2);
    }
    starts[rows] = elements == null ? values.size() : elements.rows;
    nulls[rows++] = isNull;
  }

  private void addEnd() {
    starts[rows] = elements == null ? values.size() : elements.rows;
  }

  @Override
  public boolean isList() {
    return elements != null;
  }

  @Override
  public boolean isNull(int row) {
    return nulls[row];
  }

  @Override
  public int start(int row) {
    return starts[row];
  }

  @Override
  public StatsColumn elements() {
    return elements;
  }

  @Override
  public int code(int[] some, int count, int[] codes) {
    coded.clear();
    for (int i = 0; i < count; i++) {
      int row = some[i];
      codes[i] = nulls[row] ? -1 : coded.add(values.bytes(), starts[row], starts[row + 1]);
    }
    for (int i = 0; i < count; i++) {
      codes[i] = codes[i] < 0 ? coded.size() : codes[i];
    }
    return coded.size();
  }

  @Override
  public void value(int code, StatsWriter out) {
    out.put(coded.data(), coded.start(code), coded.end(code));
  }

  @Override
  public void numbers(int[] some, int count, long[] into) {
    for (int i = 0; i < count; i++) {
      int row = some[i];
      into[i] = nulls[row] ? 0 : StatsColumn.number(values.bytes(), starts[row], starts[row + 1]);
    }
  }
}

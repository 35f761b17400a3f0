package watchfloor.bridge.columns;

import java.util.Arrays;
import org.apache.accumulo.core.data.ByteSequence;
import org.apache.arrow.memory.ArrowBuf;
import org.apache.arrow.memory.BufferAllocator;
import org.apache.arrow.vector.FieldVector;
import org.apache.arrow.vector.VarBinaryVector;
import org.apache.arrow.vector.VarCharVector;

/** Builds a column of byte strings or of text. */
public final class ByteBuilder extends ColumnBuilder {
  private final boolean text;
  private byte[] data = new byte[1024];
  /** The start of row i in {@link #data}; known up to the end of the last row that was set. */
  private int[] starts = new int[256];

  public ByteBuilder(String name) {
    this(name, false);
  }

  private ByteBuilder(String name, boolean text) {
    super(name);
    this.text = text;
  }

  static ByteBuilder ofText(String name) {
    return new ByteBuilder(name, true);
  }

  public void set(int row, ByteSequence value) {
    set(row, value.getBackingArray(), value.offset(), value.length());
  }

  @Override
  public void set(int row, byte[] bytes, int offset, int length) {
    int from = reach(row);
    starts[row + 1] = append(from, bytes, offset, length);
    mark(row);
  }

  @Override
  public void setValues(int first, int rows, int[] which, int count, byte[] bytes, int[] starts) {
    reach(first + rows);
    int end = reach(first);
    for (int i = 0; i < rows; i++) {
      int value = which[i];
      if (value != count) {
        end = append(end, bytes, starts[value], starts[value + 1] - starts[value]);
      }
      this.starts[first + i + 1] = end;
    }
    mark(first, rows, which, count);
  }

  /** Puts a value at a position of {@link #data}, and returns its end. */
  private int append(int from, byte[] bytes, int offset, int length) {
    int end = from + length;
    if (end < 0 || end > data.length) {
      data = Arrays.copyOf(data, (int) Math.min(Integer.MAX_VALUE - 8L, Math.max(data.length * 2L, from + (long) length)));
    }
    System.arraycopy(bytes, offset, data, from, length);
    return end;
  }

  @Override
  public void text(int row, byte[] data, int offset, int length) {
    set(row, data, offset, length);
  }

  @Override
  public void set(int row, long number, int bytes) {
    throw new IllegalStateException("a value of field " + name + " is a number");
  }

  /** Makes the rows before this one that were not set empty. Returns the start of this row in the data. */
  private int reach(int row) {
    if (row + 2 > starts.length) {
      starts = Arrays.copyOf(starts, Math.max(starts.length * 2, row + 2));
    }
    int from = rows();
    if (from < row) {
      Arrays.fill(starts, from + 1, row + 1, starts[from]);
    }
    return starts[row];
  }

  @Override
  public long bytes() {
    return starts[rows()];
  }

  @Override
  public FieldVector take(int count, BufferAllocator allocator) {
    int size = reach(count);
    FieldVector vector = text ? new VarCharVector(name, allocator) : new VarBinaryVector(name, allocator);
    try (ArrowBuf offsets = offsets(starts, count, allocator);
        ArrowBuf bytes = allocator.buffer(size)) {
      bytes.setBytes(0, data, 0, size);
      bytes.writerIndex(size);
      return loaded(vector, count, allocator, offsets, bytes);
    }
  }
}

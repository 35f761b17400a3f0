package watchfloor.bridge.columns;

import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.apache.arrow.memory.ArrowBuf;
import org.apache.arrow.memory.BufferAllocator;
import org.apache.arrow.vector.FieldVector;
import org.apache.arrow.vector.ipc.message.ArrowFieldNode;
import watchfloor.json.ValueSink;

/**
 * Gathers a column of a result in arrays and makes a vector of them. Rows are set in order; rows that are passed over
 * are null. A builder is used again for the next batch.
 */
public abstract class ColumnBuilder implements ValueSink {
  /** The type of a column whose values stay encoded. */
  public static final String BYTES = "bytes";

  private static final String STRING = "string";
  private static final String ADDRESS = "ip";
  private static final String LIST = "list:";

  final String name;
  private byte[] validity = new byte[32];
  private int rows;
  private int nulls;

  ColumnBuilder(String name) {
    this.name = name;
  }

  /**
   * Returns a builder of a column.
   *
   * @param type the name of a field's type, or {@link #BYTES}
   */
  static ColumnBuilder of(String name, String type) {
    switch (type) {
      case BYTES:
        return new ByteBuilder(name);
      case STRING:
      case ADDRESS:
        return ByteBuilder.ofText(name);
      default:
        return type.startsWith(LIST) ? new ListBuilder(name, type.substring(LIST.length())) : new NumberBuilder(name, type);
    }
  }

  /**
   * Returns a builder for each column.
   *
   * @param types of the columns, as in {@link #of}
   */
  public static ColumnBuilder[] all(String[] names, String[] types) {
    ColumnBuilder[] columns = new ColumnBuilder[names.length];
    Arrays.setAll(columns, i -> of(names[i], types[i]));
    return columns;
  }

  /** Sets a row to an encoded value. */
  public abstract void set(int row, byte[] bytes, int offset, int length);

  /**
   * Sets a row to an encoded value that was read as a big-endian unsigned number.
   *
   * @param bytes the length of the encoded value
   */
  public abstract void set(int row, long number, int bytes);

  /**
   * Sets the rows from {@code first} on to encoded values. That of row {@code first + i} is the value {@code which[i]};
   * null if this is {@code count}, the number of values. Value i is the part [starts[i], starts[i + 1]) of the bytes.
   */
  public void setValues(int first, int rows, int[] which, int count, byte[] bytes, int[] starts) {
    for (int i = 0; i < rows; i++) {
      if (which[i] != count) {
        set(first + i, bytes, starts[which[i]], starts[which[i] + 1] - starts[which[i]]);
      }
    }
  }

  /**
   * Sets rows to encoded values that were read as big-endian unsigned numbers, which are chosen as in {@link #setValues}.
   *
   * @param bytes the length of an encoded value
   */
  public void setNumbers(int first, int rows, int[] which, int count, long[] numbers, int bytes) {
    for (int i = 0; i < rows; i++) {
      if (which[i] != count) {
        set(first + i, numbers[which[i]], bytes);
      }
    }
  }

  @Override
  public void text(int row, byte[] data, int offset, int length) {
    throw new IllegalStateException("column " + name + " has no text");
  }

  @Override
  public void number(int row, long bits) {
    throw new IllegalStateException("column " + name + " has no numbers");
  }

  @Override
  public void list(int row, int first, int end) {
    throw new IllegalStateException("column " + name + " has no lists");
  }

  @Override
  public ValueSink elements() {
    throw new IllegalStateException("column " + name + " has no lists");
  }

  /** Returns a vector of the first {@code count} rows and starts again with row 0. */
  public abstract FieldVector take(int count, BufferAllocator allocator);

  /** Returns the bytes of the values that were set. */
  public abstract long bytes();

  /** Returns the number of rows up to the last one that was set. */
  final int rows() {
    return rows;
  }

  /** Marks a row as not null, and the rows between the last one that was set and this one as null. */
  final void mark(int row) {
    if (row >> 3 >= validity.length) {
      validity = Arrays.copyOf(validity, Math.max(validity.length * 2, (row >> 3) + 1));
    }
    validity[row >> 3] |= (byte) (1 << (row & 7));
    nulls += row - rows;
    rows = row + 1;
  }

  /** Marks rows from {@code first} on as {@link #mark(int)} does, but for those of which {@code which} is none. */
  final void mark(int first, int many, int[] which, int none) {
    int last = first + many - 1 >> 3;
    if (last >= validity.length) {
      validity = Arrays.copyOf(validity, Math.max(validity.length * 2, last + 1));
    }
    int end = rows;
    int set = 0;
    for (int i = 0; i < many; i++) {
      if (which[i] != none) {
        int row = first + i;
        validity[row >> 3] |= (byte) (1 << (row & 7));
        end = row + 1;
        set++;
      }
    }
    nulls += end - rows - set;
    rows = end;
  }

  /** Returns a buffer with the starts of {@code count} values and the end of the last one. */
  static ArrowBuf offsets(int[] starts, int count, BufferAllocator allocator) {
    int bytes = (count + 1) * Integer.BYTES;
    ArrowBuf offsets = allocator.buffer(bytes);
    offsets.nioBuffer(0, bytes).order(ByteOrder.LITTLE_ENDIAN).asIntBuffer().put(starts, 0, count + 1);
    offsets.writerIndex(bytes);
    return offsets;
  }

  /**
   * Loads the validity bitmap and these buffers, in this order, into a vector and returns it. Starts again with row 0.
   * Closes the vector if that fails.
   */
  final <V extends FieldVector> V loaded(V vector, int count, BufferAllocator allocator, ArrowBuf... buffers) {
    int bytes = (count + 7) / 8;
    if (validity.length < bytes) {
      validity = Arrays.copyOf(validity, bytes);
    }
    try (ArrowBuf bits = allocator.buffer(bytes)) {
      bits.setBytes(0, validity, 0, bytes);
      bits.writerIndex(bytes);
      List<ArrowBuf> all = new ArrayList<>(List.of(bits));
      all.addAll(List.of(buffers));
      vector.loadFieldBuffers(new ArrowFieldNode(count, nulls + count - rows), all);
    } catch (RuntimeException e) {
      vector.close();
      throw e;
    }
    Arrays.fill(validity, (byte) 0);
    rows = 0;
    nulls = 0;
    return vector;
  }
}

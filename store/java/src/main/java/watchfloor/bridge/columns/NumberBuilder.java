package watchfloor.bridge.columns;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.Arrays;
import java.util.Locale;
import org.apache.arrow.memory.ArrowBuf;
import org.apache.arrow.memory.BufferAllocator;
import org.apache.arrow.vector.BigIntVector;
import org.apache.arrow.vector.BitVector;
import org.apache.arrow.vector.FieldVector;
import org.apache.arrow.vector.Float8Vector;
import org.apache.arrow.vector.TimeStampMicroTZVector;
import org.apache.arrow.vector.UInt2Vector;

/**
 * Builds a column of numbers, times or truth values from plain values or from the encoding in which they sort as bytes.
 */
public final class NumberBuilder extends ColumnBuilder {
  private enum Type {
    INT(Long.BYTES),
    TIME(Long.BYTES),
    FLOAT(Long.BYTES),
    PORT(Short.BYTES),
    BOOL(1);

    final int bytes;

    Type(int bytes) {
      this.bytes = bytes;
    }
  }

  private final Type type;
  private final boolean isFloat;
  /** The bits in which an encoded value differs from the plain one. */
  private final long flip;
  /** The plain bits of each row; undefined where null. */
  private long[] values = new long[256];

  public NumberBuilder(String name, String type) {
    super(name);
    this.type = Type.valueOf(type.toUpperCase(Locale.ROOT));
    isFloat = this.type == Type.FLOAT;
    flip = this.type.bytes == Long.BYTES ? Long.MIN_VALUE : 0;
  }

  @Override
  public void set(int row, byte[] bytes, int offset, int length) {
    set(row, read(bytes, offset, offset + length), length);
  }

  @Override
  public void set(int row, long number, int bytes) {
    check(bytes);
    number(row, decode(number));
  }

  @Override
  public void setValues(int first, int rows, int[] which, int count, byte[] bytes, int[] starts) {
    long[] numbers = new long[count];
    for (int i = 0; i < count; i++) {
      check(starts[i + 1] - starts[i]);
      numbers[i] = read(bytes, starts[i], starts[i + 1]);
    }
    setNumbers(first, rows, which, count, numbers, type.bytes);
  }

  @Override
  public void setNumbers(int first, int rows, int[] which, int count, long[] numbers, int bytes) {
    check(bytes);
    reach(first + rows - 1);
    for (int i = 0; i < rows; i++) {
      if (which[i] != count) {
        values[first + i] = decode(numbers[which[i]]);
      }
    }
    mark(first, rows, which, count);
  }

  @Override
  public void number(int row, long bits) {
    reach(row);
    values[row] = bits;
    mark(row);
  }

  private void check(int bytes) {
    if (bytes != type.bytes) {
      throw new IllegalStateException("a value of field " + name + " has " + bytes + " bytes, not " + type.bytes);
    }
  }

  private static long read(byte[] bytes, int from, int to) {
    long number = 0;
    for (int i = from; i < to; i++) {
      number = number << Byte.SIZE | bytes[i] & 0xFF;
    }
    return number;
  }

  /** Returns the plain bits of an encoded value. */
  private long decode(long number) {
    return isFloat && number >= 0 ? ~number : number ^ flip;
  }

  private void reach(int row) {
    if (row >= values.length) {
      values = Arrays.copyOf(values, Math.max(values.length * 2, row + 1));
    }
  }

  @Override
  public long bytes() {
    return (long) rows() * Long.BYTES;
  }

  @Override
  public FieldVector take(int count, BufferAllocator allocator) {
    if (values.length < count) {
      values = Arrays.copyOf(values, count);
    }
    int size = type == Type.BOOL ? (count + 7) / 8 : count * type.bytes;
    try (ArrowBuf data = allocator.buffer(size)) {
      fill(data.nioBuffer(0, size).order(ByteOrder.LITTLE_ENDIAN), count);
      data.writerIndex(size);
      return loaded(vector(allocator), count, allocator, data);
    }
  }

  private void fill(ByteBuffer plain, int count) {
    switch (type) {
      case BOOL:
        byte[] bits = new byte[plain.remaining()];
        for (int i = 0; i < count; i++) {
          bits[i >> 3] |= (byte) (values[i] << (i & 7));
        }
        plain.put(bits);
        break;
      case PORT:
        for (int i = 0; i < count; i++) {
          plain.putShort((short) values[i]);
        }
        break;
      default:
        plain.asLongBuffer().put(values, 0, count);
    }
  }

  private FieldVector vector(BufferAllocator allocator) {
    switch (type) {
      case INT:
        return new BigIntVector(name, allocator);
      case TIME:
        return new TimeStampMicroTZVector(name, allocator, "UTC");
      case FLOAT:
        return new Float8Vector(name, allocator);
      case PORT:
        return new UInt2Vector(name, allocator);
      default:
        return new BitVector(name, allocator);
    }
  }
}

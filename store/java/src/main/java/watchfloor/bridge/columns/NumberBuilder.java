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
    long number = 0;
    for (int i = offset; i < offset + length; i++) {
      number = number << Byte.SIZE | bytes[i] & 0xFF;
    }
    set(row, number, length);
  }

  @Override
  public void set(int row, long number, int bytes) {
    if (bytes != type.bytes) {
      throw new IllegalStateException("a value of field " + name + " has " + bytes + " bytes, not " + type.bytes);
    }
    number(row, isFloat && number >= 0 ? ~number : number ^ flip);
  }

  @Override
  public void number(int row, long bits) {
    if (row >= values.length) {
      values = Arrays.copyOf(values, Math.max(values.length * 2, row + 1));
    }
    values[row] = bits;
    mark(row);
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

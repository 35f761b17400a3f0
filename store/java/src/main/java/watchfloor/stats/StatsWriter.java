package watchfloor.stats;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteOrder;
import java.util.Arrays;

/** A growing array of bytes. Numbers are little-endian, as NumPy reads them. */
public final class StatsWriter {
  private static final VarHandle INT = MethodHandles.byteArrayViewVarHandle(int[].class, ByteOrder.LITTLE_ENDIAN);
  private static final VarHandle LONG = MethodHandles.byteArrayViewVarHandle(long[].class, ByteOrder.LITTLE_ENDIAN);

  private byte[] bytes = new byte[256];
  private int size;

  public int size() {
    return size;
  }

  /** Returns the array that holds the bytes. It may be a different one after the next call. */
  public byte[] bytes() {
    return bytes;
  }

  public byte[] toByteArray() {
    return Arrays.copyOf(bytes, size);
  }

  public void clear() {
    size = 0;
  }

  private int claim(int length) {
    int at = size;
    if (length > bytes.length - at) {
      bytes = Arrays.copyOf(bytes, Math.max(Math.addExact(at, length), (int) Math.min(1L << 30, bytes.length * 2L)));
    }
    size = at + length;
    return at;
  }

  public void putByte(int value) {
    int at = claim(1);
    bytes[at] = (byte) value;
  }

  public void putInt(int value) {
    int at = claim(Integer.BYTES);
    INT.set(bytes, at, value);
  }

  public void putLong(long value) {
    int at = claim(Long.BYTES);
    LONG.set(bytes, at, value);
  }

  public void put(byte[] from, int start, int end) {
    int at = claim(end - start);
    System.arraycopy(from, start, bytes, at, end - start);
  }

  /** Appends the lowest {@code length} bytes of a number, the highest of them first, as values are encoded. */
  public void putBigEndian(long number, int length) {
    int at = claim(length);
    for (int i = length - 1; i >= 0; i--) {
      bytes[at + i] = (byte) number;
      number >>>= Byte.SIZE;
    }
  }
}

package watchfloor.block.vector.packing;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteOrder;

/** Little-endian numbers in byte arrays, as vectors hold them. */
public final class LittleEndian {
  private static final VarHandle SHORT = MethodHandles.byteArrayViewVarHandle(short[].class, ByteOrder.LITTLE_ENDIAN);
  private static final VarHandle INT = MethodHandles.byteArrayViewVarHandle(int[].class, ByteOrder.LITTLE_ENDIAN);
  private static final VarHandle LONG = MethodHandles.byteArrayViewVarHandle(long[].class, ByteOrder.LITTLE_ENDIAN);

  private LittleEndian() {}

  public static int getUnsignedShort(byte[] bytes, int offset) {
    return (short) SHORT.get(bytes, offset) & 0xFFFF;
  }

  public static int getInt(byte[] bytes, int offset) {
    return (int) INT.get(bytes, offset);
  }

  public static long getLong(byte[] bytes, int offset) {
    return (long) LONG.get(bytes, offset);
  }

  public static void putShort(byte[] bytes, int offset, int value) {
    SHORT.set(bytes, offset, (short) value);
  }

  public static void putInt(byte[] bytes, int offset, int value) {
    INT.set(bytes, offset, value);
  }

  public static void putLong(byte[] bytes, int offset, long value) {
    LONG.set(bytes, offset, value);
  }

  /** Returns the number of bytes, 1, 2, 4 or 8, that an unsigned number needs. */
  public static int widthOf(long value) {
    return value >>> 8 == 0 ? 1 : value >>> 16 == 0 ? 2 : value >>> 32 == 0 ? 4 : 8;
  }

  /** Reads {@code count} unsigned numbers of {@code width} bytes. */
  public static void getAll(byte[] bytes, int offset, int width, int count, long[] into) {
    switch (width) {
      case 1:
        for (int i = 0; i < count; i++) {
          into[i] = bytes[offset + i] & 0xFF;
        }
        break;
      case 2:
        for (int i = 0; i < count; i++) {
          into[i] = getUnsignedShort(bytes, offset + i * 2);
        }
        break;
      case 4:
        for (int i = 0; i < count; i++) {
          into[i] = getInt(bytes, offset + i * 4) & 0xFFFF_FFFFL;
        }
        break;
      default:
        for (int i = 0; i < count; i++) {
          into[i] = getLong(bytes, offset + i * 8);
        }
    }
  }

  /** As above, for numbers of 1, 2 or 4 bytes; one of 2^31 and more becomes a negative one. */
  public static void getAll(byte[] bytes, int offset, int width, int count, int[] into) {
    switch (width) {
      case 1:
        for (int i = 0; i < count; i++) {
          into[i] = bytes[offset + i] & 0xFF;
        }
        break;
      case 2:
        for (int i = 0; i < count; i++) {
          into[i] = getUnsignedShort(bytes, offset + i * 2);
        }
        break;
      default:
        for (int i = 0; i < count; i++) {
          into[i] = getInt(bytes, offset + i * 4);
        }
    }
  }

  /** Reads the unsigned numbers of {@code width} bytes at the first {@code count} of some indices. */
  public static void getSome(byte[] bytes, int offset, int width, int[] places, int count, long[] into) {
    switch (width) {
      case 1:
        for (int i = 0; i < count; i++) {
          into[i] = bytes[offset + places[i]] & 0xFF;
        }
        break;
      case 2:
        for (int i = 0; i < count; i++) {
          into[i] = getUnsignedShort(bytes, offset + places[i] * 2);
        }
        break;
      case 4:
        for (int i = 0; i < count; i++) {
          into[i] = getInt(bytes, offset + places[i] * 4) & 0xFFFF_FFFFL;
        }
        break;
      default:
        for (int i = 0; i < count; i++) {
          into[i] = getLong(bytes, offset + places[i] * 8);
        }
    }
  }

  /** As above, for numbers of 1, 2 or 4 bytes; one of 2^31 and more becomes a negative one. */
  public static void getSome(byte[] bytes, int offset, int width, int[] places, int count, int[] into) {
    switch (width) {
      case 1:
        for (int i = 0; i < count; i++) {
          into[i] = bytes[offset + places[i]] & 0xFF;
        }
        break;
      case 2:
        for (int i = 0; i < count; i++) {
          into[i] = getUnsignedShort(bytes, offset + places[i] * 2);
        }
        break;
      default:
        for (int i = 0; i < count; i++) {
          into[i] = getInt(bytes, offset + places[i] * 4);
        }
    }
  }

  /** Returns the sum of {@code count} unsigned numbers of 4 bytes. */
  public static long sum(byte[] bytes, int offset, int count) {
    long low = 0;
    long high = 0;
    int end = offset + count / 2 * Long.BYTES;
    for (int at = offset; at < end; at += Long.BYTES) {
      long two = getLong(bytes, at);
      low += two & 0xFFFF_FFFFL;
      high += two >>> 32;
    }
    return low + high + ((count & 1) != 0 ? getInt(bytes, end) & 0xFFFF_FFFFL : 0);
  }

  /** Writes the low {@code width} bytes of a number. */
  public static void put(byte[] bytes, int offset, int width, long value) {
    switch (width) {
      case 1:
        bytes[offset] = (byte) value;
        break;
      case 2:
        putShort(bytes, offset, (int) value);
        break;
      case 4:
        putInt(bytes, offset, (int) value);
        break;
      default:
        putLong(bytes, offset, value);
    }
  }
}

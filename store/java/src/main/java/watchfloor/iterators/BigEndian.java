package watchfloor.iterators;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteOrder;

/** Big-endian numbers in byte arrays. */
public final class BigEndian {
  private static final VarHandle SHORT = MethodHandles.byteArrayViewVarHandle(short[].class, ByteOrder.BIG_ENDIAN);
  private static final VarHandle INT = MethodHandles.byteArrayViewVarHandle(int[].class, ByteOrder.BIG_ENDIAN);
  private static final VarHandle LONG = MethodHandles.byteArrayViewVarHandle(long[].class, ByteOrder.BIG_ENDIAN);

  private BigEndian() {}

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
}

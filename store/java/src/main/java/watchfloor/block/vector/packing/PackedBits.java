package watchfloor.block.vector.packing;

import java.util.Arrays;

/**
 * Unsigned numbers of equal width, 0 to 56 or 64 bits, one after the other: number i begins at bit {@code i * width},
 * the lowest bit first. {@link #SPARE} bytes follow the last one, so that any number is read as part of 8 bytes.
 */
public final class PackedBits {
  public static final int SPARE = 7;
  private static final int WIDEST = 56;

  private PackedBits() {}

  public static boolean isWidth(int width) {
    return width >= 0 && (width <= WIDEST || width == Long.SIZE);
  }

  /** Returns the length in bytes of {@code count} numbers, with the spare bytes. */
  public static long length(int count, int width) {
    return ((long) count * width + 7) / 8 + SPARE;
  }

  public static long get(byte[] bytes, int at, int width, int index) {
    if (width == 0) {
      return 0;
    }
    long bit = (long) index * width;
    return LittleEndian.getLong(bytes, at + (int) (bit >> 3)) >>> (bit & 7) & mask(width);
  }

  private static long mask(int width) {
    return -1L >>> (Long.SIZE - width);
  }

  /** Reads the numbers [from, to), of at most 32 bits each; one of 2^31 and more becomes a negative one. */
  public static void getRange(byte[] bytes, int at, int width, int from, int to, int[] into) {
    if (width == 0) {
      Arrays.fill(into, 0, to - from, 0);
      return;
    }
    long mask = mask(width);
    long bit = (long) from * width;
    for (int i = 0; i < to - from; i++, bit += width) {
      into[i] = (int) (LittleEndian.getLong(bytes, at + (int) (bit >> 3)) >>> (bit & 7) & mask);
    }
  }

  /** Reads the first {@code count} numbers. */
  public static void getAll(byte[] bytes, int at, int width, int count, long[] into) {
    if (width == 0) {
      Arrays.fill(into, 0, count, 0);
      return;
    }
    long mask = mask(width);
    long bit = 0;
    for (int i = 0; i < count; i++, bit += width) {
      into[i] = LittleEndian.getLong(bytes, at + (int) (bit >> 3)) >>> (bit & 7) & mask;
    }
  }

  /** Reads the numbers, of at most 32 bits each, at the first {@code count} of some indices. */
  public static void getSome(byte[] bytes, int at, int width, int[] places, int count, int[] into) {
    for (int i = 0; i < count; i++) {
      into[i] = (int) get(bytes, at, width, places[i]);
    }
  }

  public static void getSome(byte[] bytes, int at, int width, int[] places, int count, long[] into) {
    for (int i = 0; i < count; i++) {
      into[i] = get(bytes, at, width, places[i]);
    }
  }
}

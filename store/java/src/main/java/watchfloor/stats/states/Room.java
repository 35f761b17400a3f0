package watchfloor.stats.states;

import java.util.Arrays;

/** Arrays with a place for each group. */
final class Room {
  private static final int LEAST = 16;
  /** A longer array is not kept when it is cleared. */
  private static final int KEPT = 1 << 16;

  private Room() {}

  static long[] grow(long[] array, int groups) {
    return groups <= array.length ? array : Arrays.copyOf(array, length(array.length, groups));
  }

  static double[] grow(double[] array, int groups) {
    return groups <= array.length ? array : Arrays.copyOf(array, length(array.length, groups));
  }

  static byte[][] grow(byte[][] array, int groups) {
    return groups <= array.length ? array : Arrays.copyOf(array, length(array.length, groups));
  }

  private static int length(int now, int groups) {
    return Math.max(LEAST, Math.max(groups, now * 2));
  }

  /** Returns an array of zeros. */
  static long[] clear(long[] array) {
    if (array.length > KEPT) {
      return new long[0];
    }
    Arrays.fill(array, 0);
    return array;
  }

  static double[] clear(double[] array) {
    if (array.length > KEPT) {
      return new double[0];
    }
    Arrays.fill(array, 0);
    return array;
  }

  static byte[][] clear(byte[][] array) {
    if (array.length > KEPT) {
      return new byte[0][];
    }
    Arrays.fill(array, null);
    return array;
  }
}

package watchfloor.block.filter;

import static java.nio.charset.StandardCharsets.ISO_8859_1;

import java.util.Arrays;
import watchfloor.block.vector.Vector;

/** Finds the values that contain given bytes. */
final class LiteralSearch {
  /** The number of bytes that are searched at once. They and their copy stay in the first-level cache. */
  static final int PIECE = 1 << 14;

  /** The bytes as a string with a character for each: the JVM searches strings fastest. */
  private final String text;

  /** @param bytes at least one */
  LiteralSearch(byte[] bytes) {
    text = new String(bytes, ISO_8859_1);
  }

  /**
   * Marks the first {@code count} values of a dictionary or of a plain vector, all at once.
   *
   * @param marks is set to {@code yes} for a value that contains the bytes and to {@code no} for any other
   * @return true if any value contains them
   */
  boolean mark(Vector vector, int count, byte[] marks, byte yes, byte no) {
    Arrays.fill(marks, 0, count, no);
    byte[] values = vector.bytes();
    int length = text.length();
    int end = vector.start(count);
    int at = vector.start(0);
    int value = 0;
    boolean any = false;
    while (end - at >= length) {
      int from = at;
      int to = Math.min(end, from + PIECE + length - 1);
      String piece = new String(values, from, to - from, ISO_8859_1);
      for (int found = piece.indexOf(text); found >= 0; found = piece.indexOf(text, at - from)) {
        value = valueAt(vector, from + found, value, count);
        // A later hit in the same value ends later still, so the search goes on with the next value.
        at = vector.start(value + 1);
        if (from + found + length <= at) {
          marks[value] = yes;
          any = true;
        }
      }
      at = Math.max(at, to - length + 1);
    }
    return any;
  }

  /** Returns the index of the value in which a position lies: {@code value} or one after it. */
  private static int valueAt(Vector vector, int place, int value, int count) {
    int low = value;
    int step = 1;
    while (low + step < count && vector.start(low + step) <= place) {
      low += step;
      step *= 2;
    }
    int high = Math.min(low + step, count);
    while (high - low > 1) {
      int middle = (low + high) >>> 1;
      if (vector.start(middle) <= place) {
        low = middle;
      } else {
        high = middle;
      }
    }
    return low;
  }
}

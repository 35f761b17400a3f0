package watchfloor.block.filter;

import static java.nio.charset.StandardCharsets.ISO_8859_1;

import java.util.Arrays;
import watchfloor.block.vector.Vector;

/** Finds the values that contain some bytes. */
final class LiteralSearch {
  /** Bytes of values that are searched at once: they and their copy stay in the nearest cache. */
  static final int PIECE = 1 << 14;

  /** A character for each byte: the search of strings is the fastest there is. */
  private final String text;

  /** @param bytes at least one */
  LiteralSearch(byte[] bytes) {
    text = new String(bytes, ISO_8859_1);
  }

  /**
   * Marks the first {@code count} values of a dictionary or of a plain vector, all at once.
   *
   * @param marks gets {@code yes} for a value that contains the bytes and {@code no} for any other
   * @return whether one contains them
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
        // What is found later in the same value ends still later, so the next place that counts is in the next one.
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

  /** The value in which a place lies, which is {@code value} or one behind it. */
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

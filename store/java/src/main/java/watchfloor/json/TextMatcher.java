package watchfloor.json;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteOrder;
import java.util.Arrays;

/** Compares a text with bytes of a line, eight bytes at a time, and finds the ends of strings in the same way. */
final class TextMatcher {
  /** The number of bytes of a word. */
  static final int BYTES = Long.BYTES;

  private static final VarHandle LONGS = MethodHandles.byteArrayViewVarHandle(long[].class, ByteOrder.LITTLE_ENDIAN);
  private static final long ONES = 0x0101010101010101L;
  private static final long HIGHS = ONES << 7;

  private final long[] words;
  /** The bits of the last word that belong to the text. */
  private final long last;

  /**
   * Makes a matcher.
   *
   * @param text at least one byte
   */
  TextMatcher(byte[] text) {
    words = new long[(text.length - 1) / BYTES + 1];
    byte[] padded = Arrays.copyOf(text, words.length * BYTES);
    Arrays.setAll(words, i -> get(padded, i * BYTES));
    last = -1L >>> (padded.length - text.length) * Byte.SIZE;
  }

  /** Returns whether the text is at a position. */
  boolean isAt(byte[] data, int at) {
    long[] words = this.words;
    int place = at;
    int i = 0;
    for (; i < words.length - 1; i++) {
      if (get(data, place) != words[i]) {
        return false;
      }
      place += BYTES;
    }
    return (get(data, place) & last) == words[i];
  }

  /** Returns eight bytes as a number, the first byte lowest. */
  static long get(byte[] data, int at) {
    return (long) LONGS.get(data, at);
  }

  /**
   * Returns the index, of eight bytes, of the first quotation mark, backslash or control character; 8 if there is none.
   *
   * <p>Subtracting one from a byte that is zero borrows from its highest bit, and from the bytes above it, so the lowest
   * byte that is found is right (Anderson, Bit Twiddling Hacks, "Determine if a word has a zero byte").
   */
  static int end(long word) {
    long quotes = word ^ ONES * '"';
    long slashes = word ^ ONES * '\\';
    long found = (quotes - ONES & ~quotes | slashes - ONES & ~slashes | word - ONES * ' ' & ~word) & HIGHS;
    if (found == 0) {
      return BYTES;
    }
    // Each byte below the lowest bit that was found, and its own byte, has its lowest bit set; their number is counted.
    // Java's first compiler has no instruction that counts zeros.
    return (int) ((((found & -found) - 1 & ONES) * ONES >>> 56) - 1);
  }
}

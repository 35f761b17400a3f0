package watchfloor.json;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteOrder;
import java.util.Arrays;

/** A text that bytes are compared with eight at a time, as others of a line are looked through. */
final class TextMatcher {
  /** Bytes of a word. */
  static final int BYTES = Long.BYTES;

  private static final VarHandle LONGS = MethodHandles.byteArrayViewVarHandle(long[].class, ByteOrder.LITTLE_ENDIAN);
  private static final long ONES = 0x0101010101010101L;
  private static final long HIGHS = ONES << 7;

  private final long[] words;
  /** The bits of the last word that count. */
  private final long last;

  /** @param text at least one byte */
  TextMatcher(byte[] text) {
    words = new long[(text.length - 1) / BYTES + 1];
    byte[] padded = Arrays.copyOf(text, words.length * BYTES);
    Arrays.setAll(words, i -> get(padded, i * BYTES));
    last = -1L >>> (padded.length - text.length) * Byte.SIZE;
  }

  /** Whether the text is at a position. */
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

  /** Eight bytes, the first as the lowest. */
  static long get(byte[] data, int at) {
    return (long) LONGS.get(data, at);
  }

  /**
   * The place among eight bytes of the first that is a quotation mark, a backslash or a control character; 8 if none is.
   *
   * <p>A byte less one borrows from its highest bit if it is zero, and from the bytes above it: so the lowest that is
   * found is one (Anderson, Bit Twiddling Hacks, "Determine if a word has a zero byte").
   */
  static int end(long word) {
    long quotes = word ^ ONES * '"';
    long slashes = word ^ ONES * '\\';
    long found = (quotes - ONES & ~quotes | slashes - ONES & ~slashes | word - ONES * ' ' & ~word) & HIGHS;
    if (found == 0) {
      return BYTES;
    }
    // Below the lowest bit found each byte has a one at its bottom: as many as bytes come before, and its own. The first
    // compiler has no instruction that counts zeros.
    return (int) ((((found & -found) - 1 & ONES) * ONES >>> 56) - 1);
  }
}

package watchfloor.block.vector.packing;

/**
 * The symbols by which strings are compressed, as FSST does (Boncz, Neumann and Leis, "FSST: Fast Random Access String
 * Compression", PVLDB 2020): a code of one byte stands for a symbol of 1 to 8 bytes, and {@link #ESCAPE} says that the
 * next byte stands for itself. Any string is decompressed alone.
 *
 * <p>As stored: the number of symbols, at most 255, the length of each, and their bytes.
 */
public final class SymbolTable {
  static final int ESCAPE = 255;
  public static final int LONGEST = Long.BYTES;

  int size;
  final byte[] lengths = new byte[ESCAPE];
  /** The bytes of each symbol, the first one lowest. */
  final long[] symbols = new long[ESCAPE];

  /** Reads a stored table and returns its end; -1 if it is damaged or reaches beyond {@code end}. */
  public int read(byte[] bytes, int at, int end) {
    if (at >= end) {
      return -1;
    }
    size = bytes[at] & 0xFF;
    int next = at + 1 + size;
    if (next > end) {
      return -1;
    }
    for (int code = 0; code < size; code++) {
      int length = bytes[at + 1 + code];
      if (length < 1 || length > LONGEST || length > end - next) {
        return -1;
      }
      lengths[code] = (byte) length;
      symbols[code] = load(bytes, next, length);
      next += length;
    }
    return next;
  }

  public byte[] toByteArray() {
    int total = 0;
    for (int code = 0; code < size; code++) {
      total += lengths[code];
    }
    byte[] stored = new byte[1 + size + total];
    stored[0] = (byte) size;
    int next = 1 + size;
    for (int code = 0; code < size; code++) {
      stored[1 + code] = lengths[code];
      for (int i = 0; i < lengths[code]; i++) {
        stored[next++] = (byte) (symbols[code] >>> 8 * i);
      }
    }
    return stored;
  }

  /** Returns up to 8 bytes as a number, the first one lowest. */
  static long load(byte[] bytes, int at, int length) {
    if (at + Long.BYTES <= bytes.length) {
      long word = LittleEndian.getLong(bytes, at);
      return length == Long.BYTES ? word : word & ~(-1L << 8 * length);
    }
    long word = 0;
    for (int i = 0; i < length; i++) {
      word |= (bytes[at + i] & 0xFFL) << 8 * i;
    }
    return word;
  }

  /**
   * Decompresses the part [from, to) to a position of {@code into}, in which 8 bytes for each byte of the part are left,
   * and returns the end; -1 if a code has no symbol.
   */
  public int decompress(byte[] bytes, int from, int to, byte[] into, int start) {
    int at = start;
    for (int i = from; i < to; i++) {
      int code = bytes[i] & 0xFF;
      if (code < size) {
        LittleEndian.putLong(into, at, symbols[code]);
        at += lengths[code];
      } else if (code == ESCAPE && ++i < to) {
        into[at++] = bytes[i];
      } else {
        return -1;
      }
    }
    return at;
  }
}

package watchfloor.block.vector.packing;

import java.util.Arrays;

/**
 * Compresses strings by a {@link SymbolTable} that it makes from a sample of them.
 *
 * <p>The table is made in rounds, each of more of the sample: a round compresses it by the symbols so far,
 * and of these and of all that followed one another, joined, keeps those that stand for the most bytes. As in FSST only one
 * symbol of three bytes or more is kept of those that share a place in a small hash table, so a symbol is found by two
 * look-ups.
 */
public final class StringCompressor {
  /** By round: one in so many strings of the sample is looked at. */
  private static final int[] ROUNDS = {8, 4, 2, 1, 1};
  /** The bytes of the sample that a round looks at, at most. */
  private static final int MOST_BYTES = 1 << 15;
  /** In the counts of a round, a byte without a symbol is this more than its value. */
  private static final int LITERAL = 256;
  private static final int TOKENS = 512;
  /** Pairs that occur less often are not joined: they say more of the sample than of the strings. */
  private static final int FEWEST = 3;
  /** A byte without a symbol takes two bytes, so symbols of one byte are worth more than the bytes that they stand for. */
  private static final int SINGLE_WORTH = 8;
  /** Symbols of at least so many bytes are found by the hash of so many bytes. */
  private static final int LONG = 3;
  private static final int PLACE_BITS = 12;

  /** What is needed while a table is made; large, so there is one per thread. */
  private static final class Scratch {
    final int[] counts = new int[TOKENS];
    final int[] pairs = new int[TOKENS * TOKENS];
    final Candidates candidates = new Candidates();
  }

  private static final ThreadLocal<Scratch> SCRATCH = ThreadLocal.withInitial(Scratch::new);

  private final SymbolTable table = new SymbolTable();
  /** By the hash of the first three bytes: the code of a longer symbol; -1 is none. */
  private final short[] longer = new short[1 << PLACE_BITS];
  /** By two bytes, and by one: the code of the symbol of these bytes; -1 is none. */
  private final short[] pair = new short[1 << 16];
  private final short[] single = new short[1 << 8];

  /** Makes the table for strings like these: {@code ends} has the end of each in {@code bytes}; the first begins at 0. */
  public StringCompressor(byte[] bytes, int[] ends) {
    Arrays.fill(longer, (short) -1);
    Arrays.fill(pair, (short) -1);
    Arrays.fill(single, (short) -1);
    Scratch scratch = SCRATCH.get();
    for (int share : ROUNDS) {
      count(bytes, ends, share, scratch);
      choose(scratch);
    }
  }

  private void count(byte[] bytes, int[] ends, int step, Scratch scratch) {
    int left = MOST_BYTES;
    for (int i = 0; i < ends.length; i += step) {
      int at = i == 0 ? 0 : ends[i - 1];
      int end = Math.min(ends[i], at + left);
      left -= end - at;
      for (int before = -1; at < end; ) {
        int code = find(bytes, at, end);
        int token = code < 0 ? LITERAL + (bytes[at] & 0xFF) : code;
        at += code < 0 ? 1 : table.lengths[code];
        scratch.counts[token]++;
        if (before >= 0) {
          scratch.pairs[before * TOKENS + token]++;
        }
        before = token;
      }
    }
  }

  /** Replaces the symbols by the best of those that were counted, and forgets the counts. */
  private void choose(Scratch scratch) {
    Candidates candidates = scratch.candidates;
    for (int token = 0; token < TOKENS; token++) {
      if (scratch.counts[token] == 0) {
        continue;
      }
      int length = length(token);
      candidates.add(symbol(token), length, (long) scratch.counts[token] * (length == 1 ? SINGLE_WORTH : length));
      int row = token * TOKENS;
      for (int next = 0; next < TOKENS && length < SymbolTable.LONGEST; next++) {
        int count = scratch.pairs[row + next];
        if (count >= FEWEST) {
          int joined = Math.min(SymbolTable.LONGEST, length + length(next));
          candidates.add(symbol(token) | symbol(next) << 8 * length, joined, (long) count * joined);
        }
      }
      Arrays.fill(scratch.pairs, row, row + TOKENS, 0);
    }
    Arrays.fill(scratch.counts, 0);
    clear();
    candidates.takeBest(this::keep);
  }

  private long symbol(int token) {
    return token >= LITERAL ? token - LITERAL : table.symbols[token];
  }

  private int length(int token) {
    return token >= LITERAL ? 1 : table.lengths[token];
  }

  private void clear() {
    for (int code = 0; code < table.size; code++) {
      long symbol = table.symbols[code];
      longer[place(symbol)] = -1;
      pair[(int) symbol & 0xFFFF] = -1;
      single[(int) symbol & 0xFF] = -1;
    }
    table.size = 0;
  }

  private static int place(long word) {
    return (int) ((word & 0xFF_FFFF) * 0x9E3779B97F4A7C15L >>> Long.SIZE - PLACE_BITS);
  }

  /** Adds a symbol, unless a better one has its place. Returns false if the table is full. */
  private boolean keep(long symbol, int length) {
    if (table.size == SymbolTable.ESCAPE) {
      return false;
    }
    if (length >= LONG) {
      if (longer[place(symbol)] >= 0) {
        return true;
      }
      longer[place(symbol)] = (short) table.size;
    } else if (length == 2) {
      pair[(int) symbol] = (short) table.size;
    } else {
      single[(int) symbol] = (short) table.size;
    }
    table.symbols[table.size] = symbol;
    table.lengths[table.size++] = (byte) length;
    return true;
  }

  /** Returns the code of a long symbol at a position, or else of a short one; -1 if there is none. */
  private int find(byte[] bytes, int at, int end) {
    int left = Math.min(SymbolTable.LONGEST, end - at);
    if (left > 1) {
      long word = SymbolTable.load(bytes, at, left);
      int code = longer[place(word)];
      if (code >= 0) {
        int length = table.lengths[code];
        if (length <= left && (word & -1L >>> 8 * (Long.BYTES - length)) == table.symbols[code]) {
          return code;
        }
      }
      code = pair[(int) word & 0xFFFF];
      if (code >= 0) {
        return code;
      }
    }
    return single[bytes[at] & 0xFF];
  }

  /** Returns the table as it is stored. */
  public byte[] table() {
    return table.toByteArray();
  }

  /**
   * Returns compressed strings, one after the other, and sets {@code ends}, which has the end of each in {@code bytes}, to
   * the ends of the compressed ones.
   */
  public byte[] compress(byte[] bytes, int[] ends) {
    byte[] into = new byte[(ends.length == 0 ? 0 : ends[ends.length - 1]) / 2];
    int at = 0;
    int to = 0;
    for (int i = 0; i < ends.length; i++) {
      int most = to + 2 * (ends[i] - at);
      if (most > into.length) {
        into = Arrays.copyOf(into, Math.max(most, into.length + into.length / 2));
      }
      for (int end = ends[i]; at < end; ) {
        int code = find(bytes, at, end);
        if (code < 0) {
          into[to++] = (byte) SymbolTable.ESCAPE;
          into[to++] = bytes[at++];
        } else {
          into[to++] = (byte) code;
          at += table.lengths[code];
        }
      }
      ends[i] = to;
    }
    return Arrays.copyOf(into, to);
  }
}

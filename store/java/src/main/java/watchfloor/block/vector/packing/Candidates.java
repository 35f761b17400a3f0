package watchfloor.block.vector.packing;

import java.util.Arrays;

/** Symbols that a {@link StringCompressor} may keep, with how many bytes of a sample each stands for. */
final class Candidates {
  /** Takes a symbol. Returns false if no more are wanted. */
  interface Keeper {
    boolean keep(long symbol, int length);
  }

  private static final int SLOT_BITS = 14;
  private static final int SLOTS = 1 << SLOT_BITS;
  /** More candidates are left out: by then all that are worth much have come. */
  private static final int MOST = SLOTS / 2;

  private final long[] symbols = new long[SLOTS];
  private final byte[] lengths = new byte[SLOTS];
  private final long[] gains = new long[SLOTS];
  private final int[] used = new int[MOST];
  private int count;

  /** Adds a symbol that stands for {@code gain} bytes, or for so many more. */
  void add(long symbol, int length, long gain) {
    int slot = (int) ((symbol + length) * 0x9E3779B97F4A7C15L >>> Long.SIZE - SLOT_BITS);
    while (lengths[slot] != 0 && (symbols[slot] != symbol || lengths[slot] != length)) {
      slot = slot + 1 & SLOTS - 1;
    }
    if (lengths[slot] == 0) {
      if (count == MOST) {
        return;
      }
      symbols[slot] = symbol;
      lengths[slot] = (byte) length;
      used[count++] = slot;
    }
    gains[slot] += gain;
  }

  /** Hands over the symbols, those that stand for the most bytes first, and forgets all. */
  void takeBest(Keeper keeper) {
    long[] order = new long[count];
    for (int i = 0; i < count; i++) {
      order[i] = gains[used[i]] << SLOT_BITS | used[i];
    }
    Arrays.sort(order);
    boolean wanted = true;
    for (int i = count - 1; i >= 0 && wanted; i--) {
      int slot = (int) order[i] & SLOTS - 1;
      wanted = keeper.keep(symbols[slot], lengths[slot]);
    }
    for (int i = 0; i < count; i++) {
      lengths[used[i]] = 0;
      gains[used[i]] = 0;
    }
    count = 0;
  }
}

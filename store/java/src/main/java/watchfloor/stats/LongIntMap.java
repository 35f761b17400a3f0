package watchfloor.stats;

import java.util.Arrays;

/** Numbers distinct longs in the order in which they come: a hash table with open addressing. */
public final class LongIntMap {
  private static final int LEAST = 64;
  /** A larger table is not kept when it is cleared. */
  private static final int KEPT = 1 << 16;

  private long[] keys = new long[LEAST / 2];
  /** By hash: the number of a key plus one; 0 if the place is free. */
  private int[] places = new int[LEAST];
  private int size;

  public int size() {
    return size;
  }

  /** Returns the key of a number. */
  public long key(int number) {
    return keys[number];
  }

  public long bytes() {
    return (long) keys.length * Long.BYTES + (long) places.length * Integer.BYTES;
  }

  /** Returns the number of a key, the next free one if the key is new. */
  public int add(long key) {
    int mask = places.length - 1;
    int at = hash(key) & mask;
    while (places[at] != 0) {
      int number = places[at] - 1;
      if (keys[number] == key) {
        return number;
      }
      at = (at + 1) & mask;
    }
    if (size == keys.length) {
      grow();
      mask = places.length - 1;
      at = hash(key) & mask;
      while (places[at] != 0) {
        at = (at + 1) & mask;
      }
    }
    keys[size] = key;
    places[at] = size + 1;
    return size++;
  }

  public void clear() {
    size = 0;
    if (places.length > KEPT) {
      keys = new long[LEAST / 2];
      places = new int[LEAST];
    } else {
      Arrays.fill(places, 0);
    }
  }

  private void grow() {
    keys = Arrays.copyOf(keys, keys.length * 2);
    places = new int[places.length * 2];
    int mask = places.length - 1;
    for (int number = 0; number < size; number++) {
      int at = hash(keys[number]) & mask;
      while (places[at] != 0) {
        at = (at + 1) & mask;
      }
      places[at] = number + 1;
    }
  }

  /** Mixes all bits of a key into an int: the finalizer of MurmurHash3. */
  private static int hash(long key) {
    key ^= key >>> 33;
    key *= 0xff51afd7ed558ccdL;
    key ^= key >>> 33;
    key *= 0xc4ceb9fe1a85ec53L;
    return (int) (key ^ key >>> 33);
  }
}

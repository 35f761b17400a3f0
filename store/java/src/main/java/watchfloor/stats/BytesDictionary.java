package watchfloor.stats;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteOrder;
import java.util.Arrays;

/** Numbers distinct byte strings in the order in which they come: a hash table over one array of bytes. */
public final class BytesDictionary {
  private static final int LEAST = 64;
  private static final VarHandle LONGS = MethodHandles.byteArrayViewVarHandle(long[].class, ByteOrder.LITTLE_ENDIAN);
  private static final long FACTOR = 0xff51afd7ed558ccdL;
  /** A larger table is not kept when it is cleared. */
  private static final int KEPT = 1 << 16;

  private byte[] data = new byte[LEAST * 8];
  /** The end of value i, which is the start of value i + 1. */
  private int[] ends = new int[LEAST / 2];
  private int[] hashes = new int[LEAST / 2];
  /** By hash: the number of a value plus one; 0 if the place is free. */
  private int[] places = new int[LEAST];
  private int size;

  public int size() {
    return size;
  }

  public long bytes() {
    return data.length + (long) (ends.length * 2 + places.length) * Integer.BYTES;
  }

  public byte[] data() {
    return data;
  }

  public int start(int number) {
    return number == 0 ? 0 : ends[number - 1];
  }

  public int end(int number) {
    return ends[number];
  }

  /** Returns the number of the bytes [from, to), the next free one if they are new. */
  public int add(byte[] bytes, int from, int to) {
    int hash = hash(bytes, from, to);
    int mask = places.length - 1;
    int at = hash & mask;
    while (places[at] != 0) {
      int number = places[at] - 1;
      if (hashes[number] == hash && Arrays.equals(data, start(number), ends[number], bytes, from, to)) {
        return number;
      }
      at = (at + 1) & mask;
    }
    if (size == ends.length) {
      grow();
      mask = places.length - 1;
      at = hash & mask;
      while (places[at] != 0) {
        at = (at + 1) & mask;
      }
    }
    int start = size == 0 ? 0 : ends[size - 1];
    int length = to - from;
    if (length > data.length - start) {
      data = Arrays.copyOf(data, Math.max(Math.addExact(start, length), (int) Math.min(1L << 30, data.length * 2L)));
    }
    System.arraycopy(bytes, from, data, start, length);
    ends[size] = start + length;
    hashes[size] = hash;
    places[at] = size + 1;
    return size++;
  }

  public void clear() {
    size = 0;
    if (places.length > KEPT || data.length > KEPT * 8) {
      data = new byte[LEAST * 8];
      ends = new int[LEAST / 2];
      hashes = new int[LEAST / 2];
      places = new int[LEAST];
    } else {
      Arrays.fill(places, 0);
    }
  }

  /** Appends all values: their number, the ends of all of them, their bytes. */
  public void write(StatsWriter out) {
    out.putInt(size);
    for (int number = 0; number < size; number++) {
      out.putInt(ends[number]);
    }
    out.put(data, 0, start(size));
  }

  private void grow() {
    ends = Arrays.copyOf(ends, ends.length * 2);
    hashes = Arrays.copyOf(hashes, ends.length);
    places = new int[places.length * 2];
    int mask = places.length - 1;
    for (int number = 0; number < size; number++) {
      int at = hashes[number] & mask;
      while (places[at] != 0) {
        at = (at + 1) & mask;
      }
      places[at] = number + 1;
    }
  }

  /** Multiplies eight bytes at a time, and then mixes all bits: the finalizer of MurmurHash3. */
  private static int hash(byte[] bytes, int from, int to) {
    long hash = to - from;
    int at = from;
    for (; at + Long.BYTES <= to; at += Long.BYTES) {
      hash = (hash ^ (long) LONGS.get(bytes, at)) * FACTOR;
      hash ^= hash >>> Integer.SIZE;
    }
    long rest = 0;
    for (; at < to; at++) {
      rest = rest << Byte.SIZE | bytes[at] & 0xFF;
    }
    hash = (hash ^ rest) * FACTOR;
    hash ^= hash >>> 33;
    hash *= 0xc4ceb9fe1a85ec53L;
    return (int) (hash ^ hash >>> 33);
  }
}

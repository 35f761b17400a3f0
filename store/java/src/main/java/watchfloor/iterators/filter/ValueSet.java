package watchfloor.iterators.filter;

import java.nio.BufferUnderflowException;
import java.nio.ByteBuffer;
import java.security.SecureRandom;
import java.util.Arrays;
import java.util.zip.DataFormatException;
import java.util.zip.Inflater;

/**
 * Many encoded values, and ranges of values, of which a value may be one. It is made from a packed form, which {@code
 * store/encoding/value_sets.py} writes: {@code [u32 bytes][zlib: u32 values, u32 ranges, a u32 length of each value, each
 * range's first and each range's last value, then their bytes in the same order]}. Values and ranges ascend, and ranges do
 * not overlap. {@link ValueSets} keeps sets.
 */
public final class ValueSet {
  /** The greatest number of bytes of a set. */
  private static final int MOST_BYTES = 1 << 28;

  /** Drawn anew by each process, so that nobody can choose values that all have one hash. */
  private static final long SEED = new SecureRandom().nextLong();

  private static final long FACTOR = new SecureRandom().nextLong() | 1;

  private final int count;
  private final int ranges;
  private final byte[] bytes;
  /** The place in {@link #bytes} of each value, then of each range's first and each range's last value; and the end. */
  private final int[] starts;
  /** By hash: the number of a value plus one, or 0. */
  private final int[] slots;

  private ValueSet(byte[] unpacked) {
    ByteBuffer in = ByteBuffer.wrap(unpacked);
    count = in.getInt();
    ranges = in.getInt();
    long all = count + 2L * ranges;
    if (count < 0 || ranges < 0 || all > in.remaining() / Integer.BYTES) {
      throw new BufferUnderflowException();
    }
    bytes = unpacked;
    starts = new int[(int) all + 1];
    long start = in.position() + all * Integer.BYTES;
    for (int i = 0; i < all; i++) {
      starts[i] = (int) start;
      int length = in.getInt();
      start += length;
      if (length < 0 || start > unpacked.length) {
        throw new BufferUnderflowException();
      }
    }
    starts[(int) all] = (int) start;
    slots = new int[Integer.highestOneBit(Math.max(1, count)) * 4];
    for (int i = 0; i < count; i++) {
      int slot = slot(bytes, starts[i], starts[i + 1]);
      while (slots[slot] != 0) {
        slot = slot + 1 & slots.length - 1;
      }
      slots[slot] = i + 1;
    }
  }

  /**
   * Returns the set of a packed form.
   *
   * @throws IllegalArgumentException if the bytes are none
   */
  public static ValueSet of(byte[] packed) {
    return new ValueSet(unpack(packed));
  }

  private static byte[] unpack(byte[] packed) {
    int size = packed.length < Integer.BYTES ? -1 : ByteBuffer.wrap(packed).getInt();
    if (size < 0 || size > MOST_BYTES) {
      throw new IllegalArgumentException("a set of values has " + size + " bytes");
    }
    Inflater inflater = new Inflater();
    try {
      inflater.setInput(packed, Integer.BYTES, packed.length - Integer.BYTES);
      byte[] unpacked = new byte[size];
      if (inflater.inflate(unpacked) != size) {
        throw new IllegalArgumentException("a set of values is shorter than it says");
      }
      return unpacked;
    } catch (DataFormatException e) {
      throw new IllegalArgumentException("a set of values is damaged", e);
    } finally {
      inflater.end();
    }
  }

  /** Returns whether the bytes [from, to) are one of the values, or lie in one of the ranges. */
  public boolean contains(byte[] value, int from, int to) {
    if (count > 0 && hasValue(value, from, to)) {
      return true;
    }
    if (ranges == 0) {
      return false;
    }
    int range = rangeNotBefore(value, from, to);
    return range < ranges && compare(count + range, value, from, to) <= 0;
  }

  /**
   * Returns the least member that is not less than the bytes [from, to): these bytes themselves if they lie in a range.
   * Returns null if all members are less.
   */
  public byte[] next(byte[] value, int from, int to) {
    int first = first(0, count, value, from, to);
    byte[] next = first < count ? member(first) : null;
    int range = rangeNotBefore(value, from, to);
    if (range == ranges) {
      return next;
    }
    byte[] low =
        compare(count + range, value, from, to) <= 0 ? Arrays.copyOfRange(value, from, to) : member(count + range);
    return next == null || Arrays.compareUnsigned(low, next) < 0 ? low : next;
  }

  /** Returns whether all, none or possibly some of the values within bounds are members. */
  Verdict within(ValueBounds bounds) {
    int low = 0;
    int high = count;
    while (low < high) {
      int middle = (low + high) >>> 1;
      if (bounds.compareMin(member(middle)) > 0) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    if (low < count && bounds.compareMax(member(low)) >= 0) {
      boolean one = bounds.compareMin(member(low)) == 0 && bounds.compareMax(member(low)) == 0;
      return one ? Verdict.ALL : Verdict.SOME;
    }
    low = 0;
    high = ranges;
    while (low < high) {
      int middle = (low + high) >>> 1;
      if (bounds.compareMin(member(count + ranges + middle)) > 0) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    return low < ranges && bounds.compareMax(member(count + low)) >= 0 ? Verdict.SOME : Verdict.NONE;
  }

  private boolean hasValue(byte[] value, int from, int to) {
    int slot = slot(value, from, to);
    while (slots[slot] != 0) {
      int i = slots[slot] - 1;
      if (Arrays.equals(bytes, starts[i], starts[i + 1], value, from, to)) {
        return true;
      }
      slot = slot + 1 & slots.length - 1;
    }
    return false;
  }

  /** Returns the number of the first range whose last value is not less than the bytes [from, to). */
  private int rangeNotBefore(byte[] value, int from, int to) {
    return first(count + ranges, count + 2 * ranges, value, from, to) - count - ranges;
  }

  /** Returns the first of the members [low, high), which ascend, that is not less than the bytes [from, to). */
  private int first(int low, int high, byte[] value, int from, int to) {
    while (low < high) {
      int middle = (low + high) >>> 1;
      if (compare(middle, value, from, to) < 0) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    return low;
  }

  private int compare(int member, byte[] value, int from, int to) {
    return Arrays.compareUnsigned(bytes, starts[member], starts[member + 1], value, from, to);
  }

  private byte[] member(int number) {
    return Arrays.copyOfRange(bytes, starts[number], starts[number + 1]);
  }

  private int slot(byte[] value, int from, int to) {
    long hash = SEED ^ (to - from);
    long word = 0;
    for (int i = from; i < to; i++) {
      word = word << 8 | value[i] & 0xFF;
      if ((i - from & 7) == 7) {
        hash = mix(hash ^ word);
        word = 0;
      }
    }
    return (int) (mix(hash ^ word) >>> 33) & slots.length - 1;
  }

  private static long mix(long hash) {
    long product = hash * FACTOR;
    return product ^ product >>> 29;
  }
}

package watchfloor.block.zone;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.zip.CRC32;
import watchfloor.iterators.filter.Condition;
import watchfloor.iterators.filter.ValueBounds;
import watchfloor.iterators.filter.Verdict;

/**
 * What is known of a field's values in a block beside its vector: their bounds, whether an event lacks the field, and maybe
 * a {@link BloomFilter} of them. One object reads any number of zones, one after the other.
 *
 * <p>Little-endian: <pre>
 * 0 u8 version | 1 u8 flags | 2 u16, 4 u16 lengths of the bounds | 6 u32 CRC-32 of all other bytes
 * 10 minimum, maximum, Bloom filter
 * </pre>
 */
public final class Zone {
  private static final int VERSION = 1;
  private static final int CRC_AT = 6;
  private static final int SIZE = 10;
  /** Flag: the zone has a minimum and a maximum. */
  private static final int BOUNDS = 1;
  /** Flag: the stored maximum is only the beginning of the real one. */
  private static final int CUT = 2;
  /** Flag: each event has exactly one value. */
  private static final int COMPLETE = 4;

  /** The most values of a condition that are looked for in a filter: with more of them one passes it too often. */
  private static final int MOST_VALUES = 16;

  private final String name;
  private final ValueBounds bounds = new ValueBounds();
  private final CRC32 crc = new CRC32();
  /** Null if no event of the block has the field. */
  private byte[] bytes;
  private int flags;
  private int filterFrom;

  /** @param name of the field, for messages */
  Zone(String name) {
    this.name = name;
  }

  /** Begins to read a zone; null if there is none: no event of the block has the field, as far as the reader may see. */
  void wrap(byte[] bytes) {
    this.bytes = bytes;
    if (bytes == null) {
      return;
    }
    if (bytes.length < SIZE || bytes[0] != VERSION) {
      throw bad("does not begin as one");
    }
    ByteBuffer in = ByteBuffer.wrap(bytes).order(ByteOrder.LITTLE_ENDIAN);
    crc.reset();
    crc.update(bytes, 0, CRC_AT);
    crc.update(bytes, SIZE, bytes.length - SIZE);
    if ((int) crc.getValue() != in.getInt(CRC_AT)) {
      throw bad("the checksum is wrong");
    }
    flags = bytes[1];
    int maxFrom = SIZE + (in.getShort(2) & 0xFFFF);
    filterFrom = maxFrom + (in.getShort(4) & 0xFFFF);
    if (filterFrom > bytes.length) {
      throw bad("ends within its bounds");
    }
    bounds.set(bytes, SIZE, maxFrom, maxFrom, filterFrom, has(CUT));
  }

  private boolean has(int flag) {
    return (flags & flag) != 0;
  }

  /** Returns whether all, none or possibly some of the block's events have the field. */
  public Verdict exists() {
    return bytes == null ? Verdict.NONE : has(COMPLETE) ? Verdict.ALL : Verdict.SOME;
  }

  /**
   * Returns whether all, none or possibly some of the block's events satisfy a condition on the field.
   *
   * @param hashes what {@link #hashes} returns for the condition
   */
  public Verdict within(Condition condition, long[] hashes) {
    if (bytes == null) {
      return Verdict.NONE;
    }
    Verdict verdict = has(BOUNDS) ? condition.within(bounds) : Verdict.SOME;
    if (verdict == Verdict.ALL) {
      return exists();
    }
    return verdict == Verdict.NONE || excludes(hashes) ? Verdict.NONE : Verdict.SOME;
  }

  /** Returns whether the filter, if there is one, tells that the field has none of some values. */
  private boolean excludes(long[] hashes) {
    if (hashes == null || filterFrom == bytes.length) {
      return false;
    }
    for (long hash : hashes) {
      if (BloomFilter.mayHave(bytes, filterFrom, bytes.length, hash)) {
        return false;
      }
    }
    return true;
  }

  /** Returns the hashes of the only values that satisfy a condition; null if these are not few. */
  public static long[] hashes(Condition condition) {
    byte[][] values;
    if (condition instanceof Condition.Equal) {
      values = new byte[][] {((Condition.Equal) condition).value};
    } else if (condition instanceof Condition.Member) {
      values = ((Condition.Member) condition).values;
    } else {
      return null;
    }
    long[] hashes = new long[values.length];
    for (int i = 0; i < hashes.length; i++) {
      hashes[i] = BloomFilter.hash(values[i], 0, values[i].length);
    }
    return hashes.length > MOST_VALUES ? null : hashes;
  }

  private IllegalStateException bad(String what) {
    return new IllegalStateException("zone of " + name + ": " + what);
  }
}

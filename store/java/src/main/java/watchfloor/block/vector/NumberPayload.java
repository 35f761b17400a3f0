package watchfloor.block.vector;

import watchfloor.block.vector.packing.LittleEndian;
import watchfloor.block.vector.packing.PackedBits;

/**
 * Reads the numbers of a vector, widened to longs. They are stored as differences from a base, or from the number
 * before.
 *
 * <p>In version 2 the number of each {@link #ANCHORED}th row is stored too, so that a row is reached from there.
 */
final class NumberPayload {
  static final int ANCHORED = 128;

  private NumberPayload() {}

  /** Returns the length in bytes of what follows the base, or the step. */
  static long length(VectorHeader header) {
    if (!header.isPacked()) {
      return (long) header.rows * header.width;
    }
    return anchors(header) + PackedBits.length(header.rows, header.width);
  }

  /** Returns the length in bytes of the anchors. */
  private static int anchors(VectorHeader header) {
    return header.transform == VectorHeader.BASE ? 0 : (header.rows + ANCHORED - 1) / ANCHORED * Long.BYTES;
  }

  /** Reads all numbers. The base, or the first number and the step, are stored just before {@code dataAt}. */
  static void getAll(VectorHeader header, byte[] plain, int dataAt, long[] into) {
    if (header.isPacked()) {
      PackedBits.getAll(plain, dataAt + anchors(header), header.width, header.rows, into);
    } else {
      LittleEndian.getAll(plain, dataAt, header.width, header.rows, into);
    }
    if (header.transform == VectorHeader.BASE) {
      addBase(plain, dataAt, into, header.rows);
    } else if (header.isPacked()) {
      addUpFromAnchors(header, plain, dataAt, into);
    } else {
      addUp(header, plain, dataAt, into);
    }
    check(header, into, header.rows);
  }

  /** Reads the numbers of the first {@code count} of some rows. Not for the differences of version 1. */
  static void getSome(VectorHeader header, byte[] plain, int dataAt, int[] some, int count, long[] into) {
    if (header.transform != VectorHeader.BASE) {
      getDifferences(header, plain, dataAt, some, count, into);
    } else if (header.isPacked()) {
      PackedBits.getSome(plain, dataAt, header.width, some, count, into);
      addBase(plain, dataAt, into, count);
    } else {
      LittleEndian.getSome(plain, dataAt, header.width, some, count, into);
      addBase(plain, dataAt, into, count);
    }
    check(header, into, count);
  }

  private static void addBase(byte[] plain, int dataAt, long[] read, int count) {
    long base = LittleEndian.getLong(plain, dataAt - Long.BYTES);
    for (int i = 0; i < count; i++) {
      read[i] += base;
    }
  }

  private static void addUp(VectorHeader header, byte[] plain, int dataAt, long[] numbers) {
    if (header.rows == 0) {
      return;
    }
    long value = LittleEndian.getLong(plain, dataAt - 2 * Long.BYTES);
    long step = LittleEndian.getLong(plain, dataAt - Long.BYTES);
    if (numbers[0] != 0) {
      throw header.bad("the first difference is not 0");
    }
    numbers[0] = value;
    for (int i = 1; i < header.rows; i++) {
      value += step + numbers[i];
      numbers[i] = value;
    }
  }

  private static void addUpFromAnchors(VectorHeader header, byte[] plain, int dataAt, long[] numbers) {
    long step = LittleEndian.getLong(plain, dataAt - Long.BYTES);
    long value = 0;
    for (int i = 0; i < header.rows; i++) {
      value = i % ANCHORED == 0 ? anchor(plain, dataAt, i) : value + step + numbers[i];
      numbers[i] = value;
    }
  }

  private static long anchor(byte[] plain, int dataAt, int row) {
    return LittleEndian.getLong(plain, dataAt + row / ANCHORED * Long.BYTES);
  }

  /** Reads some numbers, whose rows ascend, each from the one before it or from its anchor, whichever is nearer. */
  private static void getDifferences(
      VectorHeader header, byte[] plain, int dataAt, int[] some, int count, long[] into) {
    long step = LittleEndian.getLong(plain, dataAt - Long.BYTES);
    int packedAt = dataAt + anchors(header);
    int at = -1;
    long value = 0;
    for (int i = 0; i < count; i++) {
      int row = some[i];
      int anchored = row / ANCHORED * ANCHORED;
      if (at < anchored || at > row) {
        at = anchored;
        value = anchor(plain, dataAt, row);
      }
      while (at < row) {
        at++;
        value += step + PackedBits.get(plain, packedAt, header.width, at);
      }
      into[i] = value;
    }
  }

  private static void check(VectorHeader header, long[] read, int count) {
    if (header.valueBytes == Long.BYTES) {
      return;
    }
    long all = 0;
    for (int i = 0; i < count; i++) {
      all |= read[i];
    }
    if (all >>> (header.valueBytes * 8) != 0) {
      throw header.bad("a number does not fit " + header.valueBytes + " bytes");
    }
  }
}

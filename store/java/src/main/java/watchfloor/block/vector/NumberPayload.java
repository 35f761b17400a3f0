package watchfloor.block.vector;

/**
 * Reads the numbers of a vector, widened to longs. They are stored as differences from a base, or from the number
 * before.
 */
final class NumberPayload {
  private NumberPayload() {}

  /** Reads all numbers. The base, or the first number and the step, are stored just before {@code dataAt}. */
  static void getAll(VectorHeader header, byte[] plain, int dataAt, long[] into) {
    LittleEndian.getAll(plain, dataAt, header.width, header.rows, into);
    if (header.transform == VectorHeader.BASE) {
      addBase(plain, dataAt, into, header.rows);
    } else {
      addUp(header, plain, dataAt, into);
    }
    check(header, into, header.rows);
  }

  /** Reads the numbers of the first {@code count} of some rows. Only for numbers that are differences from a base. */
  static void getSome(VectorHeader header, byte[] plain, int dataAt, int[] some, int count, long[] into) {
    LittleEndian.getSome(plain, dataAt, header.width, some, count, into);
    addBase(plain, dataAt, into, count);
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

package watchfloor.workload.continuous;

import java.util.zip.CRC32;
import org.apache.accumulo.core.data.ByteSequence;
import org.apache.accumulo.core.data.Key;

/**
 * The entries of the continuous suite, byte by byte as accumulo-testing writes them (its package {@code
 * org.apache.accumulo.testing.continuous}), so that each can verify what the other has written.
 *
 * <p>A row is 16 hexadecimal digits, a family and a qualifier are 4. A value is {@code
 * UUID(36):COUNT(16):PREVIOUS(0 or 16):[FILLER:]CHECKSUM(0 or 8)}: who wrote it, how many entries it had written, and
 * the row of the entry to which this one points.
 */
public final class EntryFormat {
  /** Where the previous row begins in a value. */
  static final int PREVIOUS = 54;

  static final int ROW_DIGITS = 16;
  static final int COLUMN_DIGITS = 4;
  private static final int CHECKSUM_DIGITS = 8;
  private static final byte[] DIGITS = "0123456789abcdef".getBytes(java.nio.charset.StandardCharsets.US_ASCII);

  private EntryFormat() {}

  public static byte[] row(long number) {
    return hex(number, ROW_DIGITS);
  }

  public static byte[] column(int number) {
    return hex(number, COLUMN_DIGITS);
  }

  private static byte[] hex(long number, int digits) {
    byte[] text = new byte[digits];
    putHex(text, 0, number, digits);
    return text;
  }

  private static void putHex(byte[] text, int at, long number, int digits) {
    for (int i = digits - 1; i >= 0; i--, number >>>= 4) {
      text[at + i] = DIGITS[(int) number & 15];
    }
  }

  /** Returns the number that hexadecimal digits stand for; -1 if they are none, or stand for a negative number. */
  static long parse(byte[] text, int at, int digits) {
    if (at < 0 || at + digits > text.length) {
      return -1;
    }
    long number = 0;
    for (int i = at; i < at + digits; i++) {
      int digit = Character.digit(text[i], 16);
      if (digit < 0) {
        return -1;
      }
      number = number << 4 | digit;
    }
    return number;
  }

  /** Returns the number of an entry's row; -1 if the row is not one of this suite. */
  static long rowOf(Key key) {
    ByteSequence row = key.getRowData();
    return row.length() == ROW_DIGITS ? parse(row.getBackingArray(), row.offset(), ROW_DIGITS) : -1;
  }

  /** Returns the number of the row to which a value points; -1 if it points to none. */
  static long previousOf(byte[] value) {
    boolean points = value.length > PREVIOUS && value[PREVIOUS - 1] == ':' && value[PREVIOUS] != ':';
    return points ? parse(value, PREVIOUS, ROW_DIGITS) : -1;
  }

  /**
   * Returns a value.
   *
   * @param previous the row to which the entry points, 16 digits; null: none
   * @param filler further bytes; null: none
   * @param sum the checksum of row, family, qualifier and visibility so far; null: the value has none
   */
  public static byte[] value(byte[] uuid, long count, byte[] previous, byte[] filler, CRC32 sum) {
    int length = uuid.length + 1 + ROW_DIGITS + 1 + (previous == null ? 0 : ROW_DIGITS) + 1
        + (filler == null ? 0 : filler.length + 1) + (sum == null ? 0 : CHECKSUM_DIGITS);
    byte[] value = new byte[length];
    int at = put(value, 0, uuid);
    putHex(value, at, count, ROW_DIGITS);
    value[at + ROW_DIGITS] = ':';
    at = put(value, at + ROW_DIGITS + 1, previous == null ? new byte[0] : previous);
    if (filler != null) {
      at = put(value, at, filler);
    }
    if (sum != null) {
      sum.update(value, 0, at);
      putHex(value, at, sum.getValue(), CHECKSUM_DIGITS);
    }
    return value;
  }

  /** Copies a part and the colon that ends it, and returns where the next part begins. */
  private static int put(byte[] value, int at, byte[] part) {
    System.arraycopy(part, 0, value, at, part.length);
    value[at + part.length] = ':';
    return at + part.length + 1;
  }

  /** Returns whether an entry is as it was written, by its checksum; an entry without one is. */
  static boolean isIntact(Key key, byte[] value) {
    if (value.length <= PREVIOUS || value[PREVIOUS - 1] != ':') {
      return false;
    }
    int end = value.length;
    while (value[end - 1] != ':') {
      end--;
    }
    if (end == value.length) {
      return true;
    }
    CRC32 sum = new CRC32();
    update(sum, key.getRowData());
    update(sum, key.getColumnFamilyData());
    update(sum, key.getColumnQualifierData());
    update(sum, key.getColumnVisibilityData());
    sum.update(value, 0, end);
    return value.length - end == CHECKSUM_DIGITS && parse(value, end, CHECKSUM_DIGITS) == sum.getValue();
  }

  private static void update(CRC32 sum, ByteSequence part) {
    sum.update(part.getBackingArray(), part.offset(), part.length());
  }
}

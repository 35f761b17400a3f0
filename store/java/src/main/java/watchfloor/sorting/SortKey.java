package watchfloor.sorting;

import java.util.Arrays;
import watchfloor.iterators.BigEndian;

/**
 * Writes the sort key of an event: bytes that sort, unsigned, as events do (Python: {@code store/sorting/keys.py}).
 *
 * <p>For each field by which events are sorted: <pre>
 * 02                  if the event lacks it
 * 01 value 00 00      else; 00 in the encoded value is written 00 FF; if descending, all bytes after 01 are inverted
 * </pre>
 * Then the event's key: 8 bytes reversed time, 8 bytes hash. So no two events that are told apart have the same one.
 * Last a suffix that is the same for all events of a scan.
 */
public final class SortKey {
  private static final byte VALUE = 1;
  private static final byte NULL = 2;
  private static final byte ESCAPED = (byte) 0xFF;

  private byte[] bytes = new byte[64];
  private int size;
  private final byte[] number = new byte[Long.BYTES];
  private final byte[] suffix;

  public SortKey(byte[] suffix) {
    this.suffix = suffix;
  }

  public void clear() {
    size = 0;
  }

  /** Returns the array that holds the key. It may be a different one after the next call. */
  public byte[] bytes() {
    return bytes;
  }

  public int size() {
    return size;
  }

  public byte[] toByteArray() {
    return Arrays.copyOf(bytes, size);
  }

  public void addNull() {
    makeRoom(1);
    bytes[size++] = NULL;
  }

  /** Adds the encoded value that is the bytes [from, to). */
  public void addValue(byte[] value, int from, int to, boolean descending) {
    makeRoom(3 + 2 * (to - from));
    byte inverted = (byte) (descending ? 0xFF : 0);
    bytes[size++] = VALUE;
    for (int i = from; i < to; i++) {
      bytes[size++] = (byte) (value[i] ^ inverted);
      if (value[i] == 0) {
        bytes[size++] = (byte) (ESCAPED ^ inverted);
      }
    }
    bytes[size++] = inverted;
    bytes[size++] = inverted;
  }

  /** Adds the value whose bytes are the lowest {@code width} of a number. */
  public void addNumber(long value, int width, boolean descending) {
    BigEndian.putLong(number, 0, value);
    addValue(number, Long.BYTES - width, Long.BYTES, descending);
  }

  /** Adds the first half of the event's key. */
  public void addTime(long reversed) {
    makeRoom(Long.BYTES);
    BigEndian.putLong(bytes, size, reversed);
    size += Long.BYTES;
  }

  /** Adds the other half of the event's key, and the suffix. */
  public void addHash(long hash) {
    makeRoom(Long.BYTES + suffix.length);
    BigEndian.putLong(bytes, size, hash);
    size += Long.BYTES;
    System.arraycopy(suffix, 0, bytes, size, suffix.length);
    size += suffix.length;
  }

  public boolean hasSuffix() {
    return suffix.length > 0;
  }

  /** Returns the time (µs) of the event with a key without a suffix. */
  public static long time(byte[] key) {
    return Long.MAX_VALUE - BigEndian.getLong(key, key.length - 2 * Long.BYTES);
  }

  /** Returns the encoded value of the first field of a key; null if the event lacks it. */
  public static byte[] firstValue(byte[] key, boolean descending) {
    if (key[0] == NULL) {
      return null;
    }
    byte inverted = (byte) (descending ? 0xFF : 0);
    byte[] value = new byte[key.length];
    int length = 0;
    for (int i = 1; ; i++) {
      byte one = (byte) (key[i] ^ inverted);
      if (one == 0) {
        i++;
        if (key[i] == inverted) {
          return Arrays.copyOf(value, length);
        }
      }
      value[length++] = one;
    }
  }

  private void makeRoom(int more) {
    if (bytes.length - size < more) {
      bytes = Arrays.copyOf(bytes, Math.max(bytes.length * 2, size + more));
    }
  }
}

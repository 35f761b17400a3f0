package watchfloor.iterators;

import java.util.Arrays;
import java.util.zip.CRC32;

/**
 * Reads a vector: a field's encoded values in the events of a block.
 *
 * <p>One object reads any number of vectors, one after the other, into the same buffers. {@link #wrap} checks header
 * and the checksum: the bounds need no more. Values are decompressed when they are first asked for. Who asks for all of
 * them gets them widened to ints or longs, once; who asks for some rows' pays for these. Damage is an
 * IllegalStateException that says what is wrong; what is not asked for is not looked at.
 *
 * <p>Little-endian: <pre>
 *  0 u8 magic | 1 u8 version | 2 u8 form | 3 u8 codec | 4 u8 flags | 5 u8 bytes of a value (numbers; else 0)
 *  6 u8 width of codes, differences or lengths | 7 u8 transform (numbers) | 8 u32 rows | 12 u32 length of the payload
 * 16 u32 CRC-32 of all other bytes | 20 u16, 22 u16 lengths of the bounds | 24 minimum, maximum, payload as stored
 * dictionary: u32 k | k × u32 lengths | k values, ascending | rows × code, k for null
 * plain:      [bitmap] | rows × u32 lengths | values
 * numbers:    [bitmap] | u64 base | rows × d, a value is base + d
 *        or:  u64 first | i64 step | rows × d, a value is the one before + step + d
 * list:       [bitmap] | rows × lengths | a vector of all elements, not compressed
 * </pre>
 * A bitmap has bit {@code i & 7} of byte {@code i >> 3} set if value i is not null.
 */
final class Vector {
  static final int DICTIONARY = 1;
  static final int PLAIN = 2;
  static final int NUMBERS = 3;
  static final int LIST = 4;

  static final int MAGIC = 0xB7;
  static final int VERSION = 1;
  static final int HEADER = 24;
  static final int CRC_AT = 16;
  /** Flag: nulls are marked in a bitmap. */
  static final int NULLS = 1;
  /** Flag: there are a minimum and a maximum. */
  static final int BOUNDS = 2;
  /** Flag: the maximum is only the beginning of one. */
  static final int CUT = 4;

  private static final int BASE = 0;
  private static final int DIFFERENCES = 1;
  private static final int MAX_ROWS = 1 << 20;
  private static final int MAX_LENGTH = 1 << 30;
  /** With fewer wanted values than one in so many, the lengths of those between them are only added up. */
  private static final int SPARSE = 4;
  private static final byte[] EMPTY = new byte[0];

  private final String name;
  private final CRC32 crc = new CRC32();
  private final Bounds bounds = new Bounds();

  // As stored.
  private byte[] stored;
  private int payloadFrom;
  private int storedTo;
  private int form;
  private int codec;
  private int flags;
  private int valueBytes;
  private int width;
  private int transform;
  private int rows;
  private int plainLength;

  // The payload and where its parts are. Of what is null or false the vector has not been asked yet.
  private byte[] buffer = EMPTY;
  private byte[] plain;
  private int bitmapAt;
  private int dataAt;
  private int entries;
  private int lengthsAt;
  private int values;
  private int valuesFrom;
  private int valuesTo;
  private boolean summed;
  private int[] starts = new int[0];
  private boolean widened;
  private int[] codes = new int[0];
  private long[] numbers = new long[0];
  private Vector elements;

  /** @param name of the field, for messages */
  Vector(String name) {
    this.name = name;
  }

  /** Begins to read a vector that fills an array, which must not change. */
  Vector wrap(byte[] bytes) {
    return wrap(bytes, 0, bytes.length);
  }

  /** As above, of a vector that is part of an array. */
  Vector wrap(byte[] bytes, int from, int to) {
    plain = null;
    widened = false;
    if (to - from < HEADER) {
      throw bad("has " + (to - from) + " bytes, fewer than a header");
    }
    if ((bytes[from] & 0xFF) != MAGIC) {
      throw bad("does not begin as one: " + (bytes[from] & 0xFF));
    }
    if (bytes[from + 1] != VERSION) {
      throw bad("version " + (bytes[from + 1] & 0xFF) + " is not known");
    }
    crc.reset();
    crc.update(bytes, from, CRC_AT);
    crc.update(bytes, from + CRC_AT + Integer.BYTES, to - from - CRC_AT - Integer.BYTES);
    if ((int) crc.getValue() != LittleEndian.getInt(bytes, from + CRC_AT)) {
      throw bad("the checksum is wrong");
    }
    stored = bytes;
    storedTo = to;
    form = bytes[from + 2];
    codec = bytes[from + 3];
    flags = bytes[from + 4];
    valueBytes = bytes[from + 5];
    width = bytes[from + 6];
    transform = bytes[from + 7];
    rows = LittleEndian.getInt(bytes, from + 8);
    plainLength = LittleEndian.getInt(bytes, from + 12);
    int minFrom = from + HEADER;
    int maxFrom = minFrom + LittleEndian.getUnsignedShort(bytes, from + 20);
    payloadFrom = maxFrom + LittleEndian.getUnsignedShort(bytes, from + 22);
    checkHeader();
    bounds.set(bytes, minFrom, maxFrom, maxFrom, payloadFrom, (flags & CUT) != 0);
    return this;
  }

  private void checkHeader() {
    if (form < DICTIONARY || form > LIST) {
      throw bad("form " + form + " is not known");
    }
    if (codec < Codec.NONE || codec > Codec.LZ4) {
      throw bad("codec " + codec + " is not known");
    }
    if ((flags & ~(NULLS | BOUNDS | CUT)) != 0) {
      throw bad("flags " + flags + " are not known");
    }
    if (rows < 0 || rows > MAX_ROWS) {
      throw bad("has " + Integer.toUnsignedString(rows) + " rows, more than " + MAX_ROWS);
    }
    if (plainLength < 0 || plainLength > MAX_LENGTH) {
      throw bad("payload of " + Integer.toUnsignedString(plainLength) + " bytes, more than " + MAX_LENGTH);
    }
    if (payloadFrom > storedTo) {
      throw bad("ends within its bounds");
    }
    if (codec == Codec.NONE && storedTo - payloadFrom != plainLength) {
      throw bad("payload has " + (storedTo - payloadFrom) + " bytes, not " + plainLength);
    }
    boolean knownWidth = width == 1 || width == 2 || width == 4 || (width == 8 && form == NUMBERS);
    if (form != PLAIN && !knownWidth) {
      throw bad("width " + width + " does not fit form " + form);
    }
    if (form == NUMBERS) {
      if (valueBytes != 1 && valueBytes != 2 && valueBytes != 8) {
        throw bad("a number has 1, 2 or 8 bytes, not " + valueBytes);
      }
      if (transform != BASE && transform != DIFFERENCES) {
        throw bad("transform " + transform + " is not known");
      }
      if (transform == DIFFERENCES && (flags & NULLS) != 0) {
        throw bad("differences cannot hold nulls");
      }
    }
    if (form == DICTIONARY && (flags & NULLS) != 0) {
      throw bad("a dictionary has no bitmap of nulls");
    }
  }

  private IllegalStateException bad(String what) {
    return new IllegalStateException("vector of " + name + ": " + what);
  }

  int form() {
    return form;
  }

  int rows() {
    return rows;
  }

  /** Bytes of an encoded value, if the form is {@link #NUMBERS}. */
  int valueBytes() {
    return valueBytes;
  }

  /** Of all values, or of the elements of all lists; null if they are not known. */
  Bounds bounds() {
    return (flags & BOUNDS) != 0 ? bounds : null;
  }

  /** The array that {@link #start} speaks of. */
  byte[] bytes() {
    decode();
    return plain;
  }

  /** Number of distinct values of a dictionary, and the code of null. */
  int entries() {
    decode();
    return entries;
  }

  /**
   * Where value i begins and value i - 1 ends: the entry of a dictionary, the value of a plain vector (both within
   * {@link #bytes}), the first element of a list (within {@link #elements}).
   */
  int start(int i) {
    if (!summed) {
      sum();
    }
    return starts[i];
  }

  /**
   * Where the first {@code count} of some values begin and where they end.
   *
   * @param some entries of a dictionary or rows of a plain vector, ascending
   */
  void spans(int[] some, int count, int[] from, int[] to) {
    decode();
    if (summed || count > values / SPARSE) {
      for (int i = 0; i < count; i++) {
        from[i] = start(some[i]);
        to[i] = start(some[i] + 1);
      }
      return;
    }
    int next = 0;
    long at = valuesFrom;
    for (int i = 0; i < count; i++) {
      int lengths = lengthsAt + next * Integer.BYTES;
      long begin = at + LittleEndian.sum(plain, lengths, some[i] - next);
      at = begin + LittleEndian.sum(plain, lengthsAt + some[i] * Integer.BYTES, 1);
      if (at > valuesTo) {
        throw bad("value " + some[i] + " ends behind the payload");
      }
      if (at != begin && !isValid(some[i])) {
        throw bad("null has a length, in row " + some[i]);
      }
      from[i] = (int) begin;
      to[i] = (int) at;
      next = some[i] + 1;
    }
  }

  /** Whether there are nulls that a bitmap marks. */
  boolean hasBitmap() {
    return (flags & NULLS) != 0;
  }

  /** What the bitmap says; not for dictionaries. */
  boolean isValid(int row) {
    return isValid(plain, row);
  }

  private boolean isValid(byte[] bytes, int row) {
    return (flags & NULLS) == 0 || (bytes[bitmapAt + (row >> 3)] >> (row & 7) & 1) != 0;
  }

  /** The vector of a list's elements. */
  Vector elements() {
    decode();
    return elements;
  }

  /** The codes of a dictionary; longer than there are rows. */
  int[] codes() {
    decode();
    if (!widened) {
      if (codes.length < rows) {
        codes = new int[rows];
      }
      LittleEndian.getAll(plain, dataAt, width, rows, codes);
      checkCodes(codes, rows);
      widened = true;
    }
    return codes;
  }

  /** The codes of the first {@code count} of some rows. */
  void codes(int[] some, int count, int[] into) {
    decode();
    LittleEndian.getSome(plain, dataAt, width, some, count, into);
    checkCodes(into, count);
  }

  private void checkCodes(int[] read, int count) {
    int worst = 0;
    for (int i = 0; i < count; i++) {
      // Either is negative if and only if the code is not one of 0 to entries.
      worst |= read[i] | (entries - read[i]);
    }
    if (worst < 0) {
      throw bad("a code is greater than the number of entries, " + entries);
    }
  }

  /** The numbers, unsigned, that the encoded bytes are; anything where null; longer than there are rows. */
  long[] numbers() {
    decode();
    if (!widened) {
      if (numbers.length < rows) {
        numbers = new long[rows];
      }
      LittleEndian.getAll(plain, dataAt, width, rows, numbers);
      if (transform == BASE) {
        addBase(numbers, rows);
      } else {
        addUp();
      }
      checkNumbers(numbers, rows);
      widened = true;
    }
    return numbers;
  }

  /** The numbers of the first {@code count} of some rows, as {@link #numbers()}. */
  void numbers(int[] some, int count, long[] into) {
    decode();
    if (transform == BASE) {
      LittleEndian.getSome(plain, dataAt, width, some, count, into);
      addBase(into, count);
      checkNumbers(into, count);
    } else {
      long[] all = numbers();
      for (int i = 0; i < count; i++) {
        into[i] = all[some[i]];
      }
    }
  }

  private void addBase(long[] read, int count) {
    long base = LittleEndian.getLong(plain, dataAt - Long.BYTES);
    for (int i = 0; i < count; i++) {
      read[i] += base;
    }
  }

  private void checkNumbers(long[] read, int count) {
    if (valueBytes == Long.BYTES) {
      return;
    }
    long all = 0;
    for (int i = 0; i < count; i++) {
      all |= read[i];
    }
    if (all >>> (valueBytes * 8) != 0) {
      throw bad("a number does not fit " + valueBytes + " bytes");
    }
  }

  private void addUp() {
    if (rows > 0) {
      long value = LittleEndian.getLong(plain, dataAt - 2 * Long.BYTES);
      long step = LittleEndian.getLong(plain, dataAt - Long.BYTES);
      if (numbers[0] != 0) {
        throw bad("the first difference is not 0");
      }
      numbers[0] = value;
      for (int i = 1; i < rows; i++) {
        value += step + numbers[i];
        numbers[i] = value;
      }
    }
  }

  /** Reads all that there is, so that nothing asked later can fail. */
  void check() {
    decode();
    switch (form) {
      case DICTIONARY:
        start(0);
        codes();
        break;
      case PLAIN:
        start(0);
        break;
      case NUMBERS:
        numbers();
        break;
      default:
        elements.check();
    }
  }

  private void decode() {
    if (plain != null) {
      return;
    }
    byte[] bytes = stored;
    int at = payloadFrom;
    if (codec != Codec.NONE) {
      if (buffer.length < plainLength) {
        buffer = new byte[Math.max(plainLength, Math.min(buffer.length * 2, MAX_LENGTH))];
      }
      int got = Codec.decompress(codec, stored, payloadFrom, storedTo - payloadFrom, buffer, plainLength);
      if (got != plainLength) {
        throw bad(got < 0 ? "the payload does not decompress" : "payload has " + got + " bytes, not " + plainLength);
      }
      bytes = buffer;
      at = 0;
    }
    int end = at + plainLength;
    if ((flags & NULLS) != 0) {
      bitmapAt = at;
      at = skip(at, (rows + 7) / 8, end, "bitmap of nulls");
    }
    switch (form) {
      case DICTIONARY:
        decodeDictionary(bytes, at, end);
        break;
      case PLAIN:
        beginValues(at, rows, skip(at, (long) rows * Integer.BYTES, end, "lengths"), end);
        break;
      case NUMBERS:
        dataAt = skip(at, transform == BASE ? Long.BYTES : 2 * Long.BYTES, end, "base");
        int numbersTo = skip(dataAt, (long) rows * width, end, "numbers");
        if (numbersTo != end) {
          throw bad("the payload is " + (end - numbersTo) + " bytes too long");
        }
        break;
      default:
        decodeList(bytes, at, end);
    }
    plain = bytes;
  }

  /** Where a part of so many bytes ends. */
  private int skip(int at, long length, int end, String what) {
    if (length > end - at) {
      throw bad("the payload ends within its " + what);
    }
    return at + (int) length;
  }

  private void decodeDictionary(byte[] bytes, int at, int end) {
    int lengths = skip(at, Integer.BYTES, end, "number of entries");
    entries = LittleEndian.getInt(bytes, at);
    if (entries < 0 || entries > (end - lengths) / Integer.BYTES) {
      throw bad("the payload ends within the lengths of its entries");
    }
    int from = lengths + entries * Integer.BYTES;
    skip(from, (long) rows * width, end, "codes");
    dataAt = end - rows * width;
    beginValues(lengths, entries, from, dataAt);
  }

  /** Takes note of values, {@code count} of them in [from, to), of which no length is read yet. */
  private void beginValues(int lengths, int count, int from, int to) {
    lengthsAt = lengths;
    values = count;
    valuesFrom = from;
    valuesTo = to;
    summed = false;
  }

  /** Turns lengths into starts of values. */
  private void sum() {
    int[] into = room(values + 1);
    byte[] bytes = plain;
    boolean nulls = hasBitmap();
    int at = valuesFrom;
    for (int i = 0; i < values; i++) {
      into[i] = at;
      int length = LittleEndian.getInt(bytes, lengthsAt + i * Integer.BYTES);
      if (length < 0 || length > valuesTo - at) {
        throw bad("value " + i + " is longer than what is left of the payload");
      }
      if (nulls && length != 0 && !isValid(i)) {
        throw bad("null has a length, in row " + i);
      }
      at += length;
    }
    if (at != valuesTo) {
      throw bad("the payload is " + (valuesTo - at) + " bytes too long");
    }
    into[values] = at;
    summed = true;
  }

  private int[] room(int count) {
    if (starts.length < count) {
      starts = new int[count];
    }
    return starts;
  }

  private void decodeList(byte[] bytes, int at, int end) {
    int inner = skip(at, (long) rows * width, end, "lengths");
    int[] into = room(rows + 1);
    LittleEndian.getAll(bytes, at, width, rows, into);
    int total = 0;
    for (int i = 0; i < rows; i++) {
      int length = into[i];
      into[i] = total;
      if (length < 0 || length > MAX_ROWS - total) {
        throw bad("the lists have more than " + MAX_ROWS + " elements");
      }
      if (length != 0 && !isValid(bytes, i)) {
        throw bad("null has a length, in row " + i);
      }
      total += length;
    }
    into[rows] = total;
    summed = true;
    if (elements == null) {
      elements = new Vector("elements of " + name);
    }
    elements.wrap(bytes, inner, end);
    if (elements.form == LIST || elements.codec != Codec.NONE) {
      throw bad("the elements are lists or compressed");
    }
    if (elements.rows != total) {
      throw bad("the lists have " + total + " elements, and there are " + elements.rows);
    }
  }

  /** The first entry of a dictionary for which a test of a value's bytes holds; it must hold for all that follow. */
  int firstEntry(Test test) {
    int low = 0;
    int high = entries();
    start(0);
    while (low < high) {
      int middle = (low + high) >>> 1;
      if (test.holds(plain, starts[middle], starts[middle + 1])) {
        high = middle;
      } else {
        low = middle + 1;
      }
    }
    return low;
  }

  /** The code of a value, -1 if the dictionary does not have it. */
  int entry(byte[] value) {
    int found = firstEntry((bytes, from, to) -> Arrays.compareUnsigned(bytes, from, to, value, 0, value.length) >= 0);
    boolean same =
        found < entries && Arrays.equals(plain, starts[found], starts[found + 1], value, 0, value.length);
    return same ? found : -1;
  }

  /** A statement about the bytes [from, to). */
  interface Test {
    boolean holds(byte[] bytes, int from, int to);
  }
}

package watchfloor.block.vector;

import watchfloor.block.vector.packing.LittleEndian;
import watchfloor.block.vector.packing.PackedBits;
import watchfloor.iterators.filter.ValueBounds;

/**
 * Reads a vector: a field's encoded values in the events of a block.
 *
 * <p>One object reads any number of vectors, one after the other, into the same buffers. {@link #wrap} checks the
 * header and the checksum, after which the bounds are known. Values are decompressed at the first request for them. A
 * request for all values widens them to ints or longs, once; a request for some rows reads only these. A damaged vector
 * causes an IllegalStateException that says what is wrong. Parts that are not requested are not checked.
 *
 * <p>The payload after the header ({@link VectorHeader}), little-endian, in version 1: <pre>
 * dictionary: u32 k | k × u32 lengths | k values, ascending | rows × code, k for null
 * plain:      [bitmap] | rows × u32 lengths | values
 * numbers:    [bitmap] | u64 base | rows × d, a value is base + d
 *        or:  u64 first | i64 step | rows × d, a value is the one before + step + d
 * list:       [bitmap] | rows × lengths | a vector of all elements, not compressed
 * </pre>
 * and in version 2, which is never compressed as a whole, so that any row is read alone: <pre>
 * dictionary: u32 k | k values ({@link ValueSection}), ascending | packed codes ({@link PackedBits})
 * plain:      [bitmap] | values
 * numbers:    [bitmap] | u64 base | packed d
 *        or:  i64 step | the value of each 128th row as u64 | packed d
 * list:       [bitmap] | packed lengths | a vector of all elements
 * </pre>
 * A bitmap has bit {@code i & 7} of byte {@code i >> 3} set if value i is not null.
 */
public final class Vector {
  public static final int DICTIONARY = 1;
  public static final int PLAIN = 2;
  public static final int NUMBERS = 3;
  public static final int LIST = 4;

  private static final byte[] EMPTY = new byte[0];

  private final String name;
  private final VectorHeader header;

  /** The vector that is read, null if it is part of an array. */
  private StoredVector stored;

  // The payload and the positions of its parts. Parts that are null, or whose flag is false, have not been read yet.
  private byte[] buffer = EMPTY;
  private byte[] plain;
  private int bitmapAt;
  private int dataAt;
  private int entries;
  private final ValueSection values;
  /** The starts of lists. */
  private int[] starts = new int[0];
  private boolean widened;
  private int[] codes = new int[0];
  private long[] numbers = new long[0];
  private Vector elements;

  /** @param name of the field, for messages */
  public Vector(String name) {
    this.name = name;
    header = new VectorHeader(name);
    values = new ValueSection(header, this::isValid);
  }

  /** Begins to read a vector. Returns this. */
  public Vector wrap(StoredVector stored) {
    begin(stored);
    stored.readInto(header);
    return this;
  }

  /** Begins to read a vector that fills an array. The array must not change. Returns this. */
  public Vector wrap(byte[] bytes) {
    return wrap(bytes, 0, bytes.length);
  }

  /** Begins to read a vector that is the part [from, to) of an array. Returns this. */
  public Vector wrap(byte[] bytes, int from, int to) {
    begin(null);
    header.read(bytes, from, to, true);
    return this;
  }

  private void begin(StoredVector next) {
    stored = next;
    plain = null;
    widened = false;
  }

  public int form() {
    return header.form;
  }

  public int rows() {
    return header.rows;
  }

  /** Returns the number of bytes of an encoded value, if the form is {@link #NUMBERS}. */
  public int valueBytes() {
    return header.valueBytes;
  }

  /** Returns the bounds of all values, or of the elements of all lists; null if they are not known. */
  public ValueBounds bounds() {
    return header.bounds();
  }

  /** Returns the array into which {@link #start} points. Reads all values of a dictionary or a plain vector. */
  public byte[] bytes() {
    decode();
    return header.form == DICTIONARY || header.form == PLAIN ? values.bytes() : plain;
  }

  /** Reads the bitmap of nulls, so that {@link #isValid} can tell. */
  public void readNulls() {
    decode();
  }

  /** Returns the number of distinct values of a dictionary, which is also the code of null. */
  public int entries() {
    decode();
    return entries;
  }

  /**
   * Returns the start of value i, which is the end of value i - 1. The values are the entries of a dictionary or the
   * values of a plain vector (positions in {@link #bytes}), or lists (positions in {@link #elements}).
   */
  public int start(int i) {
    decode();
    return header.form == LIST ? starts[i] : values.start(i);
  }

  /** Returns the {@link #start} of each value, and the end of the last one. Not for lists. */
  public int[] starts() {
    decode();
    return values.starts();
  }

  /**
   * Finds the starts and the ends of the first {@code count} of some values, and returns the array in which they lie until
   * the next call.
   *
   * @param some entries of a dictionary or rows of a plain vector, ascending
   */
  public byte[] spans(int[] some, int count, int[] from, int[] to) {
    decode();
    byte[] bytes = values.spans(some, count, from, to);
    for (int i = 0; header.hasNulls() && i < count; i++) {
      if (to[i] != from[i] && !isValid(some[i])) {
        throw header.bad("null has a length, in row " + some[i]);
      }
    }
    return bytes;
  }

  /** Returns whether a bitmap marks nulls. */
  public boolean hasBitmap() {
    return header.hasNulls();
  }

  /** Returns whether a row is not null, by the bitmap. Not for dictionaries. */
  public boolean isValid(int row) {
    return isValid(plain, row);
  }

  private boolean isValid(byte[] bytes, int row) {
    return !header.hasNulls() || (bytes[bitmapAt + (row >> 3)] >> (row & 7) & 1) != 0;
  }

  /** Returns the vector of the elements of all lists. */
  public Vector elements() {
    decode();
    return elements;
  }

  /** Returns the codes of all rows of a dictionary. The array may be longer than the number of rows. */
  public int[] codes() {
    decode();
    if (!widened) {
      if (codes.length < header.rows) {
        codes = new int[header.rows];
      }
      if (header.isPacked()) {
        PackedBits.getRange(plain, dataAt, header.width, 0, header.rows, codes);
      } else {
        LittleEndian.getAll(plain, dataAt, header.width, header.rows, codes);
      }
      checkCodes(codes, header.rows);
      widened = true;
    }
    return codes;
  }

  /** Reads the codes of the first {@code count} of some rows. */
  public void codes(int[] some, int count, int[] into) {
    decode();
    if (header.isPacked()) {
      PackedBits.getSome(plain, dataAt, header.width, some, count, into);
    } else {
      LittleEndian.getSome(plain, dataAt, header.width, some, count, into);
    }
    checkCodes(into, count);
  }

  private void checkCodes(int[] read, int count) {
    int worst = 0;
    for (int i = 0; i < count; i++) {
      // One of the two is negative if and only if the code is not between 0 and the number of entries.
      worst |= read[i] | (entries - read[i]);
    }
    if (worst < 0) {
      throw header.bad("a code is greater than the number of entries, " + entries);
    }
  }

  /** Returns all rows' values as unsigned numbers; undefined where null. May be longer than the rows. */
  public long[] numbers() {
    decode();
    if (!widened) {
      if (numbers.length < header.rows) {
        numbers = new long[header.rows];
      }
      NumberPayload.getAll(header, plain, dataAt, numbers);
      widened = true;
    }
    return numbers;
  }

  /** Reads the numbers of the first {@code count} of some rows, as in {@link #numbers()}. */
  public void numbers(int[] some, int count, long[] into) {
    decode();
    if (header.isPacked() || header.transform == VectorHeader.BASE) {
      NumberPayload.getSome(header, plain, dataAt, some, count, into);
    } else {
      long[] all = numbers();
      for (int i = 0; i < count; i++) {
        into[i] = all[some[i]];
      }
    }
  }

  /** Reads all parts of the vector, so that no later request can fail. */
  public void check() {
    decode();
    switch (header.form) {
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
    boolean compressed = header.codec != Codec.NONE;
    byte[] bytes = compressed ? decompress() : header.bytes;
    int at = compressed ? 0 : header.payloadFrom;
    int end = at + header.plainLength;
    if (header.hasNulls()) {
      bitmapAt = at;
      at = skip(at, (header.rows + 7) / 8, end, "bitmap of nulls");
    }
    switch (header.form) {
      case DICTIONARY:
        decodeDictionary(bytes, at, end);
        break;
      case PLAIN:
        decodePlain(bytes, at, end);
        break;
      case NUMBERS:
        decodeNumbers(at, end);
        break;
      default:
        decodeList(bytes, at, end);
    }
    plain = bytes;
  }

  private byte[] decompress() {
    if (stored != null && stored.isKept()) {
      return stored.payload(header);
    }
    buffer = header.decompress(buffer);
    return buffer;
  }

  private void decodePlain(byte[] bytes, int at, int end) {
    if (header.isPacked()) {
      checkEnd(values.beginPacked(bytes, at, end, header.rows), end);
    } else {
      values.begin(bytes, at, header.rows, skip(at, (long) header.rows * Integer.BYTES, end, "lengths"), end);
    }
  }

  private void decodeNumbers(int at, int end) {
    boolean single = header.isPacked() || header.transform == VectorHeader.BASE;
    dataAt = skip(at, single ? Long.BYTES : 2 * Long.BYTES, end, "base");
    checkEnd(skip(dataAt, NumberPayload.length(header), end, "numbers"), end);
  }

  private void checkEnd(int at, int end) {
    if (at != end) {
      throw header.bad("the payload is " + (end - at) + " bytes too long");
    }
  }

  /** Returns the end of a part. Throws an IllegalStateException if it is after the payload's end. */
  private int skip(int at, long length, int end, String what) {
    if (length > end - at) {
      throw header.bad("the payload ends within its " + what);
    }
    return at + (int) length;
  }

  private void decodeDictionary(byte[] bytes, int at, int end) {
    int lengths = skip(at, Integer.BYTES, end, "number of entries");
    entries = LittleEndian.getInt(bytes, at);
    if (entries < 0 || entries > VectorHeader.MAX_ROWS) {
      throw header.bad("has " + Integer.toUnsignedString(entries) + " entries, more than " + VectorHeader.MAX_ROWS);
    }
    if (header.isPacked()) {
      dataAt = values.beginPacked(bytes, lengths, end, entries);
      checkEnd(skip(dataAt, PackedBits.length(header.rows, header.width), end, "codes"), end);
      return;
    }
    int from = skip(lengths, (long) entries * Integer.BYTES, end, "lengths of its entries");
    skip(from, (long) header.rows * header.width, end, "codes");
    dataAt = end - header.rows * header.width;
    values.begin(bytes, lengths, entries, from, dataAt);
  }

  private void decodeList(byte[] bytes, int at, int end) {
    long length = header.isPacked() ? PackedBits.length(header.rows, header.width) : (long) header.rows * header.width;
    int inner = skip(at, length, end, "lengths");
    if (starts.length <= header.rows) {
      starts = new int[header.rows + 1];
    }
    int[] into = starts;
    if (header.isPacked()) {
      PackedBits.getRange(bytes, at, header.width, 0, header.rows, into);
    } else {
      LittleEndian.getAll(bytes, at, header.width, header.rows, into);
    }
    int total = 0;
    for (int i = 0; i < header.rows; i++) {
      int elementsOf = into[i];
      into[i] = total;
      if (elementsOf < 0 || elementsOf > VectorHeader.MAX_ROWS - total) {
        throw header.bad("the lists have more than " + VectorHeader.MAX_ROWS + " elements");
      }
      if (elementsOf != 0 && !isValid(bytes, i)) {
        throw header.bad("null has a length, in row " + i);
      }
      total += elementsOf;
    }
    into[header.rows] = total;
    if (elements == null) {
      elements = new Vector("elements of " + name);
    }
    elements.begin(null);
    // What is not compressed is covered by the sum of the whole.
    elements.header.read(bytes, inner, end, stored == null || header.codec != Codec.NONE);
    if (elements.header.form == LIST || elements.header.codec != Codec.NONE) {
      throw header.bad("the elements are lists or compressed");
    }
    if (elements.header.rows != total) {
      throw header.bad("the lists have " + total + " elements, and there are " + elements.header.rows);
    }
  }

  /** Returns the first entry of a dictionary whose bytes pass a test. All entries after it must pass the test too. */
  public int firstEntry(Test test) {
    decode();
    return values.first(test);
  }

  /** Returns the code of a value; -1 if the dictionary does not have it. */
  public int entry(byte[] value) {
    decode();
    return values.place(value);
  }

  /** A test of the bytes [from, to). */
  public interface Test {
    boolean holds(byte[] bytes, int from, int to);
  }
}

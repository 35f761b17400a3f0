package watchfloor.block.vector;

import java.util.zip.CRC32;
import watchfloor.block.vector.packing.LittleEndian;
import watchfloor.block.vector.packing.PackedBits;
import watchfloor.iterators.filter.ValueBounds;

/**
 * The header of a vector: form, codec, sizes and bounds. One object reads any number of
 * headers, one after the other.
 *
 * <p>Little-endian: <pre>
 *  0 u8 magic | 1 u8 version | 2 u8 form | 3 u8 codec | 4 u8 flags | 5 u8 bytes of a value (numbers; else 0)
 *  6 u8 width of codes, differences or lengths (version 1: bytes, 2: bits) | 7 u8 transform (numbers) | 8 u32 rows | 12 u32 length of the payload
 * 16 u32 CRC-32 of all other bytes | 20 u16, 22 u16 lengths of the bounds | 24 minimum, maximum, payload as stored
 * </pre>
 */
final class VectorHeader {
  static final int MAGIC = 0xB7;
  static final int VERSION = 1;
  /** The version whose payloads are packed, so that any row is read alone. */
  static final int PACKED = 2;
  static final int SIZE = 24;
  static final int CRC_AT = 16;
  /** Flag: nulls are marked in a bitmap. */
  static final int NULLS = 1;
  /** Flag: the vector has a minimum and a maximum. */
  static final int BOUNDS = 2;
  /** Flag: the stored maximum is only the beginning of the real one. */
  static final int CUT = 4;

  /** Transform: numbers are differences from one base. */
  static final int BASE = 0;
  /** Transform: a number is the difference from the one before. */
  static final int DIFFERENCES = 1;

  static final int MAX_ROWS = 1 << 20;
  static final int MAX_LENGTH = 1 << 30;

  private final String name;
  private final CRC32 crc = new CRC32();
  private final ValueBounds bounds = new ValueBounds();
  private int flags;

  int version;
  int form;
  int codec;
  int valueBytes;
  int width;
  int transform;
  int rows;
  /** The number of bytes of the decompressed payload. */
  int plainLength;

  /** The array with the vector; the stored payload is its part [payloadFrom, storedTo). */
  byte[] bytes;

  int payloadFrom;
  int storedTo;

  /**
   * Makes a reader.
   *
   * @param name of the field, for messages
   */
  VectorHeader(String name) {
    this.name = name;
  }

  /**
   * Reads the header of the vector that is the part [from, to) of an array.
   *
   * @param isUnknown whether the whole vector's checksum is to be compared
   */
  void read(byte[] bytes, int from, int to, boolean isUnknown) {
    if (to - from < SIZE) {
      throw bad("has " + (to - from) + " bytes, fewer than a header");
    }
    if ((bytes[from] & 0xFF) != MAGIC) {
      throw bad("does not begin as one: " + (bytes[from] & 0xFF));
    }
    version = bytes[from + 1] & 0xFF;
    if (version != VERSION && version != PACKED) {
      throw bad("version " + version + " is not known");
    }
    if (isUnknown && sum(bytes, from, to) != LittleEndian.getInt(bytes, from + CRC_AT)) {
      throw bad("the checksum is wrong");
    }
    this.bytes = bytes;
    storedTo = to;
    form = bytes[from + 2];
    codec = bytes[from + 3];
    flags = bytes[from + 4];
    valueBytes = bytes[from + 5];
    width = bytes[from + 6];
    transform = bytes[from + 7];
    rows = LittleEndian.getInt(bytes, from + 8);
    plainLength = LittleEndian.getInt(bytes, from + 12);
    int minFrom = from + SIZE;
    int maxFrom = minFrom + LittleEndian.getUnsignedShort(bytes, from + 20);
    payloadFrom = maxFrom + LittleEndian.getUnsignedShort(bytes, from + 22);
    check();
    bounds.set(bytes, minFrom, maxFrom, maxFrom, payloadFrom, (flags & CUT) != 0);
  }

  private int sum(byte[] bytes, int from, int to) {
    crc.reset();
    crc.update(bytes, from, CRC_AT);
    crc.update(bytes, from + CRC_AT + Integer.BYTES, to - from - CRC_AT - Integer.BYTES);
    return (int) crc.getValue();
  }

  private void check() {
    if (form < Vector.DICTIONARY || form > Vector.LIST) {
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
    if (isPacked() && codec != Codec.NONE) {
      throw bad("a packed payload is compressed");
    }
    if (form != Vector.PLAIN && !isKnownWidth()) {
      throw bad("width " + width + " does not fit form " + form);
    }
    if (form == Vector.NUMBERS) {
      if (valueBytes != 1 && valueBytes != 2 && valueBytes != 8) {
        throw bad("a number has 1, 2 or 8 bytes, not " + valueBytes);
      }
      if (transform != BASE && transform != DIFFERENCES) {
        throw bad("transform " + transform + " is not known");
      }
      if (transform == DIFFERENCES && hasNulls()) {
        throw bad("differences cannot hold nulls");
      }
    }
    if (form == Vector.DICTIONARY && hasNulls()) {
      throw bad("a dictionary has no bitmap of nulls");
    }
  }

  /** Returns whether numbers of the payload have a width in bits, so that any row is read alone. */
  boolean isPacked() {
    return version == PACKED;
  }

  private boolean isKnownWidth() {
    if (isPacked()) {
      return form == Vector.NUMBERS ? PackedBits.isWidth(width) : width >= 0 && width < Integer.SIZE;
    }
    return width == 1 || width == 2 || width == 4 || (width == 8 && form == Vector.NUMBERS);
  }

  /** Decompresses the payload into a buffer, or into a larger one if it does not fit, and returns that buffer. */
  byte[] decompress(byte[] buffer) {
    byte[] into = buffer;
    if (into.length < plainLength) {
      into = new byte[Math.max(plainLength, Math.min(into.length * 2, MAX_LENGTH))];
    }
    int got = Codec.decompress(codec, bytes, payloadFrom, storedTo - payloadFrom, into, plainLength);
    if (got != plainLength) {
      throw bad(got < 0 ? "the payload does not decompress" : "payload has " + got + " bytes, not " + plainLength);
    }
    return into;
  }

  /** Returns whether a bitmap marks nulls. */
  boolean hasNulls() {
    return (flags & NULLS) != 0;
  }

  /** Returns the bounds of all values, or of the elements of all lists; null if they are not known. */
  ValueBounds bounds() {
    return (flags & BOUNDS) != 0 ? bounds : null;
  }

  IllegalStateException bad(String what) {
    return new IllegalStateException("vector of " + name + ": " + what);
  }
}

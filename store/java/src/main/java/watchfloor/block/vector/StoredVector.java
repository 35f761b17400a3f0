package watchfloor.block.vector;

/**
 * The stored bytes of a vector, with what a reader has found out about them. Several scans may read one at once.
 */
public final class StoredVector {
  /** In place of the vector of a field that no event of a block has. */
  public static final StoredVector NONE = new StoredVector(new byte[0], true);

  private static final byte[] EMPTY = new byte[0];

  private final byte[] bytes;
  /** Whether it will be read again, so that the decompressed payload is worth its memory. */
  private final boolean isKept;
  private boolean isChecked;
  private boolean isCompressed;
  private volatile byte[] payload;

  /**
   * Takes bytes, which must not change.
   *
   * @param isKept whether the vector will be read again
   */
  public StoredVector(byte[] bytes, boolean isKept) {
    this.bytes = bytes;
    this.isKept = isKept;
  }

  public byte[] bytes() {
    return bytes;
  }

  boolean isKept() {
    return isKept;
  }

  /** Returns the number of bytes that it holds in memory. */
  public long size() {
    byte[] decompressed = payload;
    return (long) bytes.length + (decompressed == null ? 0 : decompressed.length);
  }

  /** Reads the header. The checksum is compared once: nobody changes the bytes afterwards. */
  void readInto(VectorHeader header) {
    header.read(bytes, 0, bytes.length, !isChecked);
    isCompressed = header.codec != Codec.NONE;
    isChecked = true;
  }

  /** Returns whether reading values will add the decompressed payload, once the header was read. */
  public boolean isGrowing() {
    return isCompressed && payload == null;
  }

  /** Returns the decompressed payload, which is kept. */
  byte[] payload(VectorHeader header) {
    byte[] decompressed = payload;
    if (decompressed == null) {
      decompressed = header.decompress(EMPTY);
      payload = decompressed;
    }
    return decompressed;
  }
}

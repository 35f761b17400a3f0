package watchfloor.bridge.sink;

import java.nio.ByteBuffer;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import watchfloor.bridge.columns.Batch;
import watchfloor.bridge.columns.LongBatch;

/**
 * A digest of many entries that depends neither on their order nor on their cut into batches and files.
 *
 * <p>It is the sum, modulo 2^64, of the first two 8-byte words of each entry's SHA-256, word by word. An entry that
 * comes twice counts twice. Timestamps are not part of it. Not for use by several threads at once.
 */
public final class EntryDigest {
  private final MessageDigest hash;
  private final byte[] length = new byte[Integer.BYTES];
  private long entries;
  private long first;
  private long second;

  public EntryDigest() {
    try {
      hash = MessageDigest.getInstance("SHA-256");
    } catch (NoSuchAlgorithmException e) {
      throw new IllegalStateException(e); // each Java has it
    }
  }

  /** Adds the entries of a {@link LongBatch}. */
  public void add(long arrayAddress, long schemaAddress) {
    try (Batch batch = new Batch(arrayAddress, schemaAddress)) {
      LongBatch columns = new LongBatch(batch);
      for (int r = 0; r < batch.rows(); r++) {
        update(columns.row.get(r));
        update(columns.family(r));
        update(columns.qualifier(r));
        update(columns.label(r));
        update(columns.value(r));
        ByteBuffer words = ByteBuffer.wrap(hash.digest());
        first += words.getLong();
        second += words.getLong();
      }
      entries += batch.rows();
    }
  }

  private void update(byte[] bytes) {
    ByteBuffer.wrap(length).putInt(bytes.length);
    hash.update(length);
    hash.update(bytes);
  }

  /** Returns the number of entries. */
  public long entries() {
    return entries;
  }

  /** Returns the first word of the sum. */
  public long first() {
    return first;
  }

  /** Returns the second word of the sum. */
  public long second() {
    return second;
  }
}

package watchfloor.block.zone;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteOrder;
import net.jpountz.xxhash.XXHash64;
import net.jpountz.xxhash.XXHashFactory;

/**
 * Split-block Bloom filters, as Parquet has them (its BloomFilter.md; Putze, Sanders and Singler, "Cache-, Hash- and
 * Space-Efficient Bloom Filters", 2007). A filter is blocks of 8 words of 32 bits. A value has a bit in each word of one
 * block; the upper half of its hash, XXH64, chooses the block and the lower half the bits. About one of a hundred
 * values that a filter does not have passes it.
 */
public final class BloomFilter {
  private static final int BLOCK_BYTES = 32;
  private static final int BITS_PER_VALUE = 10;
  private static final int[] SALT = {
    0x47b6137b, 0x44974d91, 0x8824ad5b, 0xa2b7289d, 0x705495c7, 0x2df1424b, 0x9efc4947, 0x5c6bfb31
  };
  private static final XXHash64 HASH = XXHashFactory.fastestJavaInstance().hash64();
  private static final VarHandle WORD = MethodHandles.byteArrayViewVarHandle(int[].class, ByteOrder.LITTLE_ENDIAN);

  private BloomFilter() {}

  /** Returns the hash of the bytes [from, to). */
  public static long hash(byte[] bytes, int from, int to) {
    return HASH.hash(bytes, from, to - from, 0);
  }

  /** Returns the hashes of values: {@code ends} has the end of each in {@code bytes}; the first begins at 0. */
  public static long[] hashes(byte[] bytes, int[] ends) {
    long[] hashes = new long[ends.length];
    for (int i = 0; i < ends.length; i++) {
      hashes[i] = hash(bytes, i == 0 ? 0 : ends[i - 1], ends[i]);
    }
    return hashes;
  }

  /** Returns a filter that has the values whose hashes stand at some places of an array. */
  public static byte[] of(long[] hashes, int[] places) {
    int size = (int) (((long) places.length * BITS_PER_VALUE / Byte.SIZE + BLOCK_BYTES) / BLOCK_BYTES) * BLOCK_BYTES;
    byte[] filter = new byte[size];
    for (int place : places) {
      long hash = hashes[place];
      int at = block(hash, size);
      for (int i = 0; i < SALT.length; i++) {
        int word = at + i * Integer.BYTES;
        WORD.set(filter, word, (int) WORD.get(filter, word) | bit(hash, i));
      }
    }
    return filter;
  }

  /** Returns whether a filter, the part [from, to) of an array, may have the value with a hash. */
  static boolean mayHave(byte[] bytes, int from, int to, long hash) {
    int at = from + block(hash, to - from);
    for (int i = 0; i < SALT.length; i++) {
      if (((int) WORD.get(bytes, at + i * Integer.BYTES) & bit(hash, i)) == 0) {
        return false;
      }
    }
    return true;
  }

  /** Returns where the block of a hash begins in a filter of a size. */
  private static int block(long hash, int size) {
    return (int) ((hash >>> Integer.SIZE) * (size / BLOCK_BYTES) >>> Integer.SIZE) * BLOCK_BYTES;
  }

  private static int bit(long hash, int word) {
    return 1 << ((int) hash * SALT[word] >>> 27);
  }
}

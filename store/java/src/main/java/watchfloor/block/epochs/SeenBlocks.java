package watchfloor.block.epochs;

import java.util.Arrays;
import java.util.Base64;
import java.util.Map;
import watchfloor.iterators.BigEndian;

/**
 * Tells which blocks a query sees while compaction replaces blocks, as Python's {@code BlockView} does: those of epochs
 * that are committed, and of them not those that a later epoch has replaced.
 */
public final class SeenBlocks {
  /** The option with the last committed epoch; without it all blocks are seen. */
  public static final String EPOCH = "epoch";
  /** The option with the epochs that were aborted, with commas between them. */
  public static final String ABORTED = "aborted";
  /** The option with base64 of the rows of the blocks that were replaced, ascending. */
  public static final String DIED = "died";

  private static final int TAG_AT = 16;
  private static final int MERGED = 1 << 31;

  private final long epoch;
  private final long[] aborted;
  private final byte[] died;

  private SeenBlocks(long epoch, long[] aborted, byte[] died) {
    this.epoch = epoch;
    this.aborted = aborted;
    this.died = died;
  }

  public static SeenBlocks of(Map<String, String> options) {
    String aborted = options.getOrDefault(ABORTED, "");
    return new SeenBlocks(
        Long.parseLong(options.getOrDefault(EPOCH, Long.toString(Long.MAX_VALUE))),
        aborted.isEmpty() ? new long[0] : Arrays.stream(aborted.split(",")).mapToLong(Long::parseLong).toArray(),
        Base64.getDecoder().decode(options.getOrDefault(DIED, "")));
  }

  public boolean sees(byte[] row) {
    int tag = BigEndian.getInt(row, TAG_AT);
    long made = tag < 0 ? tag & ~MERGED : 0;
    if (made > epoch) {
      return false;
    }
    for (long one : aborted) {
      if (tag < 0 && made == one) {
        return false;
      }
    }
    return !isDead(row);
  }

  private boolean isDead(byte[] row) {
    int low = 0;
    int high = died.length / row.length - 1;
    while (low <= high) {
      int middle = (low + high) >>> 1;
      int from = middle * row.length;
      int order = Arrays.compareUnsigned(row, 0, row.length, died, from, from + row.length);
      if (order == 0) {
        return true;
      }
      if (order < 0) {
        high = middle - 1;
      } else {
        low = middle + 1;
      }
    }
    return false;
  }
}

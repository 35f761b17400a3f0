package watchfloor.block;

import java.io.IOException;
import java.util.Arrays;
import java.util.Map;
import watchfloor.iterators.EventOptions;
import watchfloor.iterators.filter.Verdict;

/** The rows of a block whose events satisfy the filter of a scan. */
final class BlockRows {
  /** Null if all events match. */
  private final BlockFilter filter;

  /** The numbers from 0 on, for all scans: most read a few blocks. */
  private static volatile int[] all = new int[0];

  private int[] rows = new int[0];

  private BlockRows(BlockFilter filter) {
    this.filter = filter;
  }

  /** Reads the filter of a scan's options and allocates the slots that it needs in {@code block}. */
  static BlockRows of(Map<String, String> options, Block block) {
    byte[] program = EventOptions.filter(options);
    return new BlockRows(program == null ? null : BlockFilter.decode(program, block));
  }

  /** Returns whether all events of all blocks match. */
  boolean takesAll() {
    return filter == null;
  }

  /** Returns whether events of the block may match, as far as the block's row tells. */
  boolean mayMatch(Block block) {
    return filter == null || filter.within(block.time()) != Verdict.NONE;
  }

  /** Selects the rows of a block, which is open, and returns their number. */
  int select(Block block) throws IOException {
    int count = block.rows();
    if (rows.length < count) {
      rows = new int[count];
    }
    System.arraycopy(allRows(count), 0, rows, 0, count);
    return filter == null ? count : filter.select(block, rows, count);
  }

  /** Returns an array with the numbers from 0 to {@code count} - 1, and maybe more, which nobody changes. */
  private static int[] allRows(int count) {
    int[] known = all;
    if (known.length < count) {
      known = new int[count];
      Arrays.setAll(known, i -> i);
      all = known;
    }
    return known;
  }

  /** Returns the selected rows, which are ascending; the caller may narrow them in place. */
  int[] rows() {
    return rows;
  }
}

package watchfloor.block;

import java.io.IOException;
import java.util.Arrays;
import java.util.Map;
import org.apache.accumulo.core.data.Key;
import org.apache.accumulo.core.data.Value;
import org.apache.accumulo.core.iterators.IteratorEnvironment;
import org.apache.accumulo.core.iterators.SortedKeyValueIterator;
import watchfloor.block.hot.HotBlocks;
import watchfloor.block.zone.Zones;
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

  /**
   * Has vectors that other scans have read used again, and blocks passed over by their zones, if they have some and the
   * filter has conditions that zones decide. Called once all slots are allocated, and before the source is sought.
   */
  void prepare(SortedKeyValueIterator<Key, Value> source, IteratorEnvironment environment, Block block) {
    block.useHotBlocks(HotBlocks.of(environment));
    Zones zones = new Zones();
    if (filter != null && filter.addZones(zones, block) && Zones.areWritten(environment)) {
      zones.setSource(source.deepCopy(environment));
      block.useZones(zones);
    }
  }

  /** Returns whether all events of all blocks match. */
  boolean takesAll() {
    return filter == null;
  }

  /** Returns whether events of the block may match, as far as its row and its zones tell. */
  boolean mayMatch(Block block) throws IOException {
    return filter == null
        || filter.within(block.times().bounds(), false) != Verdict.NONE
            && (!block.readZones() || filter.within(block.times().bounds(), true) != Verdict.NONE);
  }

  /** Selects the rows of a block, which is open, and returns their number. */
  int select(Block block) throws IOException {
    int count = block.rows();
    if (rows.length < count) {
      rows = new int[count];
    }
    System.arraycopy(allRows(count), 0, rows, 0, count);
    int selected = filter == null ? count : filter.select(block, rows, count);
    block.setMatched(selected > 0);
    return selected;
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

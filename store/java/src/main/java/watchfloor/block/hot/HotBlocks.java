package watchfloor.block.hot;

import com.github.benmanes.caffeine.cache.Cache;
import com.github.benmanes.caffeine.cache.Caffeine;
import java.util.Arrays;
import org.apache.accumulo.core.data.Key;
import org.apache.accumulo.core.data.TableId;
import org.apache.accumulo.core.iterators.IteratorEnvironment;
import org.apache.accumulo.core.iterators.IteratorUtil.IteratorScope;
import org.apache.accumulo.core.security.Authorizations;

/**
 * The blocks that are read most, as scans with some authorizations see a table. All scans of a tablet server share them.
 *
 * <p>A store copies each value that it reads, from its own cache too, and a reader compares its checksum: most of what a
 * few rows of a block cost. Vectors that are kept here are neither copied nor checked, nor decompressed, again.
 *
 * <p>A scan looks at the first cell of a block in any case. All cells of a block are written by one mutation or file, and
 * deleted from the first one on, so if that cell has the key that it had, timestamp included, then scans with the same
 * authorizations see the same cells. Scans with others share nothing with them.
 *
 * <p>Together they take a fixed part of the heap. What is read once, by a scan of a whole table, does not displace what
 * is read again and again (W-TinyLFU: Einziger, Friedman and Manes, ACM Transactions on Storage 13 (4), 2017).
 */
public final class HotBlocks {
  /** The blocks take this part of the heap at most. */
  private static final int HEAP_SHARE = 10;

  private static final Cache<Place, HotBlock> BLOCKS =
      Caffeine.newBuilder()
          .maximumWeight(Runtime.getRuntime().maxMemory() / HEAP_SHARE)
          .weigher((Place place, HotBlock block) -> block.weight())
          .executor(Runnable::run)
          .build();

  private final TableId table;
  private final Authorizations authorizations;

  private HotBlocks(TableId table, Authorizations authorizations) {
    this.table = table;
    this.authorizations = authorizations;
  }

  /** Returns the blocks of the table that a scan reads, as it sees them; null if it is not a scan. */
  public static HotBlocks of(IteratorEnvironment environment) {
    return environment.getIteratorScope() == IteratorScope.scan
        ? new HotBlocks(environment.getTableId(), environment.getAuthorizations())
        : null;
  }

  /** Returns what is known of the block with a row, given the key of the first cell that the scan sees of it. */
  public HotBlock open(byte[] row, Key first) {
    HotBlock known = BLOCKS.getIfPresent(new Place(table, authorizations, row));
    return known != null && known.isSame(first) ? known : new HotBlock(first);
  }

  /** Keeps a block of which more is known now. */
  public void keep(byte[] row, HotBlock block) {
    BLOCKS.put(new Place(table, authorizations, row), block);
  }

  private record Place(TableId table, Authorizations authorizations, byte[] row) {
    @Override
    public boolean equals(Object other) {
      return other instanceof Place
          && Arrays.equals(row, ((Place) other).row)
          && table.equals(((Place) other).table)
          && authorizations.equals(((Place) other).authorizations);
    }

    @Override
    public int hashCode() {
      return 31 * Arrays.hashCode(row) + table.hashCode();
    }
  }
}

package watchfloor.block;

import java.io.IOException;
import java.util.Arrays;
import watchfloor.block.stats.VectorColumn;
import watchfloor.block.vector.Vector;
import watchfloor.stats.StatsColumn;
import watchfloor.stats.StatsProgram;
import watchfloor.stats.StatsSource;

/** The events of the block at which a scan stands, as a {@link StatsSource}. */
final class BlockEvents implements StatsSource {
  private final Block block;
  private final int[] slots;
  private final BlockFilter[] filters;
  private final VectorColumn[] columns;
  /** By field: whether the column was looked for, and the column; null if all its values are null. */
  private final boolean[] known;
  private final StatsColumn[] found;

  BlockEvents(StatsProgram program, Block block) {
    this.block = block;
    slots = program.fields.stream().mapToInt(field -> block.slot(field.name())).toArray();
    filters = program.filters.stream().map(filter -> BlockFilter.decode(filter, block)).toArray(BlockFilter[]::new);
    columns = new VectorColumn[slots.length];
    known = new boolean[slots.length];
    found = new StatsColumn[slots.length];
  }

  /** Begins the block at which the scan stands now. */
  void begin() {
    Arrays.fill(known, false);
  }

  @Override
  public StatsColumn column(int field) throws IOException {
    if (!known[field]) {
      known[field] = true;
      Vector vector = block.vector(slots[field]);
      if (columns[field] == null) {
        columns[field] = new VectorColumn();
      }
      found[field] = vector == null ? null : columns[field].wrap(vector);
    }
    return found[field];
  }

  @Override
  public int select(int filter, int[] rows, int count) throws IOException {
    return filters[filter].select(block, rows, count);
  }

  @Override
  public long oldest() {
    return block.times().oldest();
  }

  @Override
  public long newest() {
    return block.times().newest();
  }
}

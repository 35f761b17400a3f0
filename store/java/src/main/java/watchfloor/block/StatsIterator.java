package watchfloor.block;

import java.io.IOException;
import java.util.Collection;
import java.util.Map;
import org.apache.accumulo.core.data.ByteSequence;
import org.apache.accumulo.core.data.Key;
import org.apache.accumulo.core.data.Range;
import org.apache.accumulo.core.data.Value;
import org.apache.accumulo.core.iterators.IteratorEnvironment;
import org.apache.accumulo.core.iterators.SortedKeyValueIterator;
import watchfloor.block.epochs.SeenBlocks;
import watchfloor.iterators.AnswerKeys;
import watchfloor.iterators.GatheringIterator;
import watchfloor.iterators.StatsOptions;
import watchfloor.stats.PartialAnswer;
import watchfloor.stats.StatsProgram;
import watchfloor.stats.StatsTable;

/**
 * Gives the groups of the events that satisfy a filter, with the states of each group, as answers of a {@link
 * StatsTable}. Only groups leave the tablet server.
 */
public class StatsIterator extends GatheringIterator {
  private final Block block = new Block();
  private BlockRows matching;
  private SeenBlocks seen;
  private BlockEvents events;
  private StatsTable table;

  @Override
  protected PartialAnswer prepare(Map<String, String> options) {
    StatsProgram program = StatsOptions.program(options);
    matching = BlockRows.of(options, block);
    events = new BlockEvents(program, block);
    block.freeze();
    seen = SeenBlocks.of(options);
    table = new StatsTable(program);
    return table;
  }

  @Override
  protected void prepareSource(SortedKeyValueIterator<Key, Value> source, IteratorEnvironment environment) {
    matching.prepare(source, environment, block);
  }

  @Override
  protected void begin(
      SortedKeyValueIterator<Key, Value> source, Range range, Collection<ByteSequence> families, boolean inclusive)
      throws IOException {
    block.seek(source, range);
  }

  @Override
  protected Key addNext(SortedKeyValueIterator<Key, Value> source) throws IOException {
    if (!block.next()) {
      return null;
    }
    if (matching.mayMatch(block) && seen.sees(block.row()) && block.open()) {
      int count = matching.select(block);
      if (count > 0) {
        events.begin();
        table.add(events, matching.rows(), count);
      }
    }
    return AnswerKeys.key(block.row());
  }

  @Override
  protected GatheringIterator create() {
    return new StatsIterator();
  }
}

package watchfloor.block;

import java.io.IOException;
import java.util.Arrays;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import org.apache.accumulo.core.data.ByteSequence;
import org.apache.accumulo.core.data.Key;
import org.apache.accumulo.core.data.Range;
import org.apache.accumulo.core.data.Value;
import org.apache.accumulo.core.iterators.IteratorEnvironment;
import org.apache.accumulo.core.iterators.SortedKeyValueIterator;
import watchfloor.iterators.AnswerIterator;
import watchfloor.iterators.AnswerKeys;
import watchfloor.iterators.EventOptions;
import watchfloor.iterators.Heartbeat;
import watchfloor.iterators.StatsOptions;
import watchfloor.iterators.filter.ValueSet;
import watchfloor.iterators.filter.ValueSets;
import watchfloor.iterators.filter.Verdict;
import watchfloor.stats.StatsProgram;
import watchfloor.stats.StatsTable;

/**
 * Gives the groups of the events that satisfy a filter, with the states of each group, as answers of a {@link
 * StatsTable}. Only groups leave the tablet server.
 *
 * <p>An answer holds the events of all blocks since the answer before it. Its key is the row of the last of these
 * blocks, so a scan that was torn down is resumed with the next block, and no event counts twice or is lost. An answer
 * comes at the end of the range, after {@link StatsOptions#NANOS}, and when the groups take too much memory.
 */
public class StatsIterator extends AnswerIterator {
  private Map<String, String> options;
  /** Kept as long as the filters that refer to them. */
  private List<ValueSet> sets;
  private SortedKeyValueIterator<Key, Value> source;
  private Block block;
  /** Null if all events match. */
  private BlockFilter filter;
  private SeenBlocks seen;
  private BlockEvents events;
  private StatsTable table;
  private long mostBytes;
  private int[] allRows = new int[0];
  private int[] rows = new int[0];

  @Override
  public void init(
      SortedKeyValueIterator<Key, Value> source, Map<String, String> options, IteratorEnvironment environment) {
    this.source = source;
    this.options = Map.copyOf(options);
    sets = ValueSets.load(options);
    StatsProgram program = StatsOptions.program(options);
    block = new Block();
    byte[] given = EventOptions.filter(options);
    filter = given == null ? null : BlockFilter.decode(given, block);
    events = new BlockEvents(program, block);
    block.freeze();
    seen = SeenBlocks.of(options);
    table = new StatsTable(program);
    mostBytes = StatsOptions.mostBytes(options);
  }

  @Override
  public void seek(Range range, Collection<ByteSequence> families, boolean inclusive) throws IOException {
    block.seek(source, AnswerKeys.left(range), families, inclusive);
    next();
  }

  @Override
  public void next() throws IOException {
    clearTop();
    long begin = System.nanoTime();
    byte[] last = null;
    while (block.next()) {
      last = block.row();
      addBlock();
      boolean isLate = System.nanoTime() - begin > (table.events() > 0 ? StatsOptions.NANOS : Heartbeat.NANOS);
      if (isLate || table.bytes() > mostBytes) {
        answer(last);
        return;
      }
    }
    if (table.events() > 0) {
      answer(last);
    }
  }

  /** Answers with the groups so far, or with a heartbeat if there are none. */
  private void answer(byte[] last) {
    topKey = AnswerKeys.key(last);
    topValue = table.events() > 0 ? new Value(table.takeAnswer(), false) : Heartbeat.value();
  }

  /** Adds the events of the block that match. */
  private void addBlock() throws IOException {
    if (filter != null && filter.within(block.time()) == Verdict.NONE || !seen.sees(block.row()) || !block.open()) {
      return;
    }
    int all = block.rows();
    if (allRows.length < all) {
      allRows = new int[all];
      Arrays.setAll(allRows, i -> i);
      rows = new int[all];
    }
    System.arraycopy(allRows, 0, rows, 0, all);
    int count = filter == null ? all : filter.select(block, rows, all);
    if (count > 0) {
      events.begin();
      table.add(events, rows, count);
    }
  }

  @Override
  public SortedKeyValueIterator<Key, Value> deepCopy(IteratorEnvironment environment) {
    StatsIterator copy = new StatsIterator();
    copy.init(source.deepCopy(environment), options, environment);
    return copy;
  }
}

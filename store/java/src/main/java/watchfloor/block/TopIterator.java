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
import watchfloor.block.filter.VectorFilter;
import watchfloor.block.vector.Vector;
import watchfloor.iterators.AnswerKeys;
import watchfloor.iterators.EventOptions;
import watchfloor.iterators.GatheringIterator;
import watchfloor.iterators.SortOptions;
import watchfloor.iterators.filter.Condition;
import watchfloor.iterators.filter.Verdict;
import watchfloor.sorting.SortKey;
import watchfloor.sorting.TopRows;
import watchfloor.stats.PartialAnswer;

/**
 * Gives the first events, in the order of some fields, of those that satisfy a filter: their sort keys and the rows of
 * their blocks, as answers of a {@link TopRows}.
 *
 * <p>Once there are as many events as are wanted, the first field's value in the last of them bounds what can still be
 * among them: blocks whose vector has only values beyond it are passed over by the vector's header, and so are rows
 * beyond it by codes or numbers.
 */
public class TopIterator extends GatheringIterator {
  private final Block block = new Block();
  private BlockRows matching;
  private SeenBlocks seen;
  private BlockSortKeys keys;
  private TopRows top;

  // The bound, the first field's value in it (null: any value may be before it), and for blocks whose events may be
  // before it with that value, and for others, the condition that it sets on the first field.
  private byte[] bound;
  private byte[] boundValue;
  private Condition upToBound;
  private Condition beforeBound;

  @Override
  protected PartialAnswer prepare(Map<String, String> options) {
    matching = BlockRows.of(options, block);
    keys = new BlockSortKeys(
            SortOptions.orders(options), options.get(EventOptions.TIME), SortOptions.key(options), block);
    block.freeze();
    seen = SeenBlocks.of(options);
    top = SortOptions.rows(options);
    return top;
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
    addBlock();
    return AnswerKeys.key(block.row());
  }

  /** Offers the events of the block that match. */
  private void addBlock() throws IOException {
    readBound();
    if (!matching.mayMatch(block) || !seen.sees(block.row())) {
      return;
    }
    Condition wanted = boundValue == null ? null : keys.mayBeBefore(bound) ? upToBound : beforeBound;
    if (keys.isFirstTime() && wanted != null && wanted.within(block.times().bounds()) == Verdict.NONE || !block.open()) {
      return;
    }
    Vector first = wanted == null ? null : block.vector(keys.firstSlot());
    if (wanted != null && (first == null || first.bounds() != null && wanted.within(first.bounds()) == Verdict.NONE)) {
      return;
    }
    int count = matching.select(block);
    if (count > 0 && wanted != null) {
      count = new VectorFilter(wanted).select(first, matching.rows(), count);
    }
    if (count > 0) {
      keys.offer(top, matching.rows(), count);
    }
  }

  /** Reads the conditions that the bound sets on the first field, if the bound is another one than before. */
  private void readBound() {
    if (bound == top.bound()) {
      return;
    }
    bound = top.bound();
    boolean descending = keys.isFirstDescending();
    // Null comes last, so a bound of null leaves all values.
    boundValue = SortKey.firstValue(bound, descending);
    if (boundValue != null) {
      byte[] low = descending ? boundValue : null;
      byte[] high = descending ? null : boundValue;
      upToBound = new Condition.Interval(low, true, high, true);
      beforeBound = new Condition.Interval(low, false, high, false);
    }
  }

  @Override
  protected GatheringIterator create() {
    return new TopIterator();
  }
}

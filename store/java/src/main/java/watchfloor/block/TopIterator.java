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
import watchfloor.block.filter.VectorFilter;
import watchfloor.block.vector.Vector;
import watchfloor.iterators.AnswerIterator;
import watchfloor.iterators.AnswerKeys;
import watchfloor.iterators.EventOptions;
import watchfloor.iterators.Heartbeat;
import watchfloor.iterators.SortOptions;
import watchfloor.iterators.StatsOptions;
import watchfloor.iterators.filter.Condition;
import watchfloor.iterators.filter.ValueSet;
import watchfloor.iterators.filter.ValueSets;
import watchfloor.iterators.filter.Verdict;
import watchfloor.sorting.SortKey;
import watchfloor.sorting.TopRows;

/**
 * Gives the first events, in the order of some fields, of those that satisfy a filter: their sort keys and the rows of
 * their blocks, as answers of a {@link TopRows}.
 *
 * <p>Once there are as many events as are wanted, the first field's value in the last of them bounds what can still be
 * among them: blocks whose vector has only values beyond it are passed over by the vector's header, and so are rows
 * beyond it by codes or numbers. Answers come at the end of the range, and in between as those of {@link
 * StatsIterator}.
 */
public class TopIterator extends AnswerIterator {
  private Map<String, String> options;
  /** Kept as long as the filters that refer to them. */
  private List<ValueSet> sets;
  private SortedKeyValueIterator<Key, Value> source;
  private Block block;
  /** Null if all events match. */
  private BlockFilter filter;
  private SeenBlocks seen;
  private BlockSortKeys keys;
  private TopRows top;
  private long mostBytes;

  // The bound, the first field's value in it (null: any value may be before it), and for blocks whose events may be
  // before it with that value, and for others, the condition that it sets on the first field.
  private byte[] bound;
  private byte[] boundValue;
  private Condition upToBound;
  private Condition beforeBound;

  private int[] allRows = new int[0];
  private int[] rows = new int[0];

  @Override
  public void init(
      SortedKeyValueIterator<Key, Value> source, Map<String, String> options, IteratorEnvironment environment) {
    this.source = source;
    this.options = Map.copyOf(options);
    sets = ValueSets.load(options);
    block = new Block();
    byte[] given = EventOptions.filter(options);
    filter = given == null ? null : BlockFilter.decode(given, block);
    keys = new BlockSortKeys(
            SortOptions.orders(options), options.get(EventOptions.TIME), SortOptions.key(options), block);
    block.freeze();
    seen = SeenBlocks.of(options);
    top = SortOptions.rows(options);
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
      boolean isLate = System.nanoTime() - begin > (top.size() > 0 ? StatsOptions.NANOS : Heartbeat.NANOS);
      if (isLate || top.bytes() > mostBytes) {
        answer(last);
        return;
      }
    }
    if (top.size() > 0) {
      answer(last);
    }
  }

  /** Answers with the events so far, or with a heartbeat if there are none. */
  private void answer(byte[] last) {
    topKey = AnswerKeys.key(last);
    topValue = top.size() > 0 ? new Value(top.takeAnswer(), false) : Heartbeat.value();
  }

  /** Offers the events of the block that match. */
  private void addBlock() throws IOException {
    readBound();
    if (filter != null && filter.within(block.time()) == Verdict.NONE || !seen.sees(block.row())) {
      return;
    }
    Condition wanted = boundValue == null ? null : keys.mayBeBefore(bound) ? upToBound : beforeBound;
    if (keys.isFirstTime() && wanted != null && wanted.within(block.time()) == Verdict.NONE || !block.open()) {
      return;
    }
    Vector first = wanted == null ? null : block.vector(keys.firstSlot());
    if (wanted != null && (first == null || first.bounds() != null && wanted.within(first.bounds()) == Verdict.NONE)) {
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
    if (count > 0 && wanted != null) {
      count = new VectorFilter(wanted).select(first, rows, count);
    }
    if (count > 0) {
      keys.offer(top, rows, count);
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
  public SortedKeyValueIterator<Key, Value> deepCopy(IteratorEnvironment environment) {
    TopIterator copy = new TopIterator();
    copy.init(source.deepCopy(environment), options, environment);
    return copy;
  }
}

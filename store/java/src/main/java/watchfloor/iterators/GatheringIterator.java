package watchfloor.iterators;

import java.io.IOException;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import org.apache.accumulo.core.data.ByteSequence;
import org.apache.accumulo.core.data.Key;
import org.apache.accumulo.core.data.Range;
import org.apache.accumulo.core.data.Value;
import org.apache.accumulo.core.iterators.IteratorEnvironment;
import org.apache.accumulo.core.iterators.SortedKeyValueIterator;
import watchfloor.iterators.filter.ValueSet;
import watchfloor.iterators.filter.ValueSets;
import watchfloor.stats.PartialAnswer;

/**
 * The common base of iterators that gather what they answer from many rows.
 *
 * <p>An answer holds what was gathered since the answer before it. Its key is the last row that was read, so a scan
 * that was torn down is resumed with the next row, and no event counts twice or is lost. An answer comes at the end of
 * the range, after {@link StatsOptions#NANOS}, and when what was gathered takes too much memory. A {@link Heartbeat}
 * comes in its place if there is nothing to answer.
 */
public abstract class GatheringIterator extends AnswerIterator {
  private Map<String, String> options;
  /** Kept as long as the filters that refer to them. */
  private List<ValueSet> sets;

  private SortedKeyValueIterator<Key, Value> source;
  private PartialAnswer gathered;
  private long mostBytes;

  /** Prepares the iterator. {@link #addNext} adds to the returned answer. */
  protected abstract PartialAnswer prepare(Map<String, String> options);

  /** Makes the copies of the source that the iterator needs. Called after {@link #prepare} and before the first seek. */
  protected void prepareSource(SortedKeyValueIterator<Key, Value> source, IteratorEnvironment environment) {}

  /** Goes to the first row of a range. */
  protected void begin(
      SortedKeyValueIterator<Key, Value> source, Range range, Collection<ByteSequence> families, boolean inclusive)
      throws IOException {
    source.seek(range, families, inclusive);
  }

  /** Reads the next row, adds what is wanted of it, and returns the row's key; null if there is no row left. */
  protected abstract Key addNext(SortedKeyValueIterator<Key, Value> source) throws IOException;

  /** Returns a new iterator of the same class. */
  protected abstract GatheringIterator create();

  @Override
  public final void init(
      SortedKeyValueIterator<Key, Value> source, Map<String, String> options, IteratorEnvironment environment) {
    this.source = source;
    this.options = Map.copyOf(options);
    sets = ValueSets.load(options);
    gathered = prepare(options);
    prepareSource(source, environment);
    mostBytes = StatsOptions.mostBytes(options);
  }

  @Override
  public final void seek(Range range, Collection<ByteSequence> families, boolean inclusive) throws IOException {
    clearTop();
    Range left = AnswerKeys.left(range);
    if (left != null) {
      begin(source, left, families, inclusive);
      next();
    }
  }

  @Override
  public final void next() throws IOException {
    clearTop();
    long begin = System.nanoTime();
    Key last = null;
    for (Key key = addNext(source); key != null; key = addNext(source)) {
      last = key;
      boolean isLate = System.nanoTime() - begin > (gathered.isEmpty() ? Heartbeat.NANOS : StatsOptions.NANOS);
      if (isLate || gathered.bytes() > mostBytes) {
        answer(last);
        return;
      }
    }
    if (!gathered.isEmpty()) {
      answer(last);
    }
  }

  private void answer(Key last) throws IOException {
    topKey = last;
    topValue = gathered.isEmpty() ? Heartbeat.value() : new Value(gathered.takeAnswer(), false);
  }

  @Override
  public final SortedKeyValueIterator<Key, Value> deepCopy(IteratorEnvironment environment) {
    GatheringIterator copy = create();
    copy.init(source.deepCopy(environment), options, environment);
    return copy;
  }
}

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
import org.apache.accumulo.core.iterators.OptionDescriber;
import org.apache.accumulo.core.iterators.SortedKeyValueIterator;
import watchfloor.block.vector.VectorWriter;
import watchfloor.iterators.AnswerIterator;
import watchfloor.iterators.AnswerKeys;
import watchfloor.iterators.EventOptions;
import watchfloor.iterators.Heartbeat;
import watchfloor.iterators.filter.ValueSet;
import watchfloor.iterators.filter.ValueSets;

/**
 * Gives one answer for each block that has events that satisfy a filter, with the values of the requested fields.
 *
 * <p>An answer's key is the block's row alone, so a scan that was torn down is resumed with the next block. The value
 * repeats {@code [u16 place in columns][u32 length][vector]}. A vector has a row for each event that matches, newest
 * first, up to the wanted number. If all events of the block match, the vectors are the stored ones. A field whose
 * values are all null is left out. The last part, with the place {@link AnswerKeys#NEXT}, is the next row of the tablet
 * in the range, if there is one. It tells the client which events of the answer are newer than all events to come.
 *
 * <p>A scan ends early after the number of answers, heartbeats included, that {@link EventOptions#ANSWERS} names. With
 * {@link EventOptions#NEW_SINCE} it reads one block at most, and postpones the next one: the answer in its place has the
 * block's row as its key and as the next row, and no field.
 *
 * <p>A scan that finds nothing for a while answers with a {@link Heartbeat}, after which the server lets other scans
 * run.
 */
public class BlockIterator extends AnswerIterator implements OptionDescriber {
  private Map<String, String> options;
  /** Kept as long as the filters that refer to them. */
  private List<ValueSet> sets;
  private SortedKeyValueIterator<Key, Value> source;
  private Block block;
  private BlockRows matching;
  private int most;
  private int mostAnswers;
  /** The answers that are left until the scan ends. */
  private int answersLeft;
  /** The time (µs) from which on the first block must have events, if only one is read; else null. */
  private Long newSince;
  private boolean hasRead;
  private int[] slots;
  private boolean[] wanted;
  /** Whether the block before had events that match. */
  private boolean isMatchExpected;
  private final VectorWriter answer = new VectorWriter();

  @Override
  public void init(
      SortedKeyValueIterator<Key, Value> source, Map<String, String> options, IteratorEnvironment environment) {
    this.source = source;
    this.options = Map.copyOf(options);
    sets = ValueSets.load(options);
    block = new Block();
    matching = BlockRows.of(options, block);
    isMatchExpected = matching.takesAll();
    most = EventOptions.most(options);
    mostAnswers = EventOptions.answers(options);
    newSince = EventOptions.newSince(options);
    String[] columns = EventOptions.columns(options);
    slots = Arrays.stream(columns).mapToInt(block::slot).toArray();
    block.freeze();
    matching.prepare(source, environment, block);
    wanted = new boolean[block.slotsInOrder().length];
    for (int slot : slots) {
      wanted[slot] = true;
    }
  }

  @Override
  public void seek(Range range, Collection<ByteSequence> families, boolean inclusive) throws IOException {
    block.seek(source, AnswerKeys.left(range));
    answersLeft = mostAnswers;
    hasRead = false;
    next();
  }

  @Override
  public void next() throws IOException {
    clearTop();
    long begin = System.nanoTime();
    while (answersLeft > 0 && block.next()) {
      boolean mayMatch = matching.mayMatch(block);
      if (mayMatch && isPostponed()) {
        postpone();
        return;
      }
      if (mayMatch && answers()) {
        answersLeft--;
        return;
      }
      if (System.nanoTime() - begin > Heartbeat.NANOS) {
        topKey = AnswerKeys.key(block.row());
        topValue = Heartbeat.value();
        answersLeft--;
        return;
      }
    }
  }

  private boolean isPostponed() {
    return newSince != null && (hasRead || block.times().newest() < newSince);
  }

  /** Answers in place of the block, which is next, and ends the scan. */
  private void postpone() {
    answer.clear();
    answer.put(AnswerKeys.NEXT, block.row());
    topKey = AnswerKeys.key(block.row());
    topValue = new Value(answer.toByteArray(), false);
    answersLeft = 0;
  }

  /** Makes the block's answer and moves the source past the block. Returns false if none of its events matches. */
  private boolean answers() throws IOException {
    hasRead = true;
    if (!block.open()) {
      return false;
    }
    if (isMatchExpected) {
      // All cells in one pass: the filter's first would need another one for the cells before them.
      readWanted();
    }
    int all = block.rows();
    int count = all;
    if (!matching.takesAll() || most < all) {
      count = Math.min(matching.select(block), most);
    }
    isMatchExpected = count > 0;
    if (count == 0) {
      return false;
    }
    readWanted();
    answer.clear();
    for (int place = 0; place < slots.length; place++) {
      byte[] stored = block.stored(slots[place]);
      if (stored == null) {
        continue;
      }
      if (count == all) {
        answer.put(place, stored);
      } else {
        answer.put(place, block.vector(slots[place]), matching.rows(), count);
      }
    }
    topKey = AnswerKeys.key(block.row());
    byte[] following = block.following();
    if (following != null) {
      answer.put(AnswerKeys.NEXT, following);
    }
    topValue = new Value(answer.toByteArray(), false);
    return true;
  }

  /** Reads the cells of the requested fields, in their order. */
  private void readWanted() throws IOException {
    for (int slot : block.slotsInOrder()) {
      if (wanted[slot]) {
        block.stored(slot);
      }
    }
  }

  @Override
  public SortedKeyValueIterator<Key, Value> deepCopy(IteratorEnvironment environment) {
    BlockIterator copy = new BlockIterator();
    copy.init(source.deepCopy(environment), options, environment);
    return copy;
  }

  @Override
  public IteratorOptions describeOptions() {
    return EventOptions.describe("one entry for each block with events that satisfy a filter");
  }

  @Override
  public boolean validateOptions(Map<String, String> options) {
    EventOptions.check(options);
    return true;
  }
}

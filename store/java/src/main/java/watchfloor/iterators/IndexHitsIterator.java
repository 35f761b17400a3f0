package watchfloor.iterators;

import java.io.IOException;
import java.util.Arrays;
import java.util.Base64;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.accumulo.core.data.ArrayByteSequence;
import org.apache.accumulo.core.data.ByteSequence;
import org.apache.accumulo.core.data.Key;
import org.apache.accumulo.core.data.PartialKey;
import org.apache.accumulo.core.data.Range;
import org.apache.accumulo.core.data.Value;
import org.apache.accumulo.core.iterators.IteratorEnvironment;
import org.apache.accumulo.core.iterators.SortedKeyValueIterator;
import watchfloor.iterators.filter.Computed;
import watchfloor.iterators.filter.Condition;
import watchfloor.iterators.filter.FilterProgram;
import watchfloor.iterators.filter.ValueSet;
import watchfloor.iterators.filter.ValueSets;

/**
 * Sums the hits of index entries over many values at once: it reads all rows of a range whose value passes a test, and
 * answers with each qualifier once and the sum of its hits. If the test is a list, it seeks the list's values.
 *
 * <p>An index entry's qualifier is its place: an event or a block of events. Its value is the number of hits in 4
 * bytes, or empty for one hit. Other places and their numbers may follow; a place with no hits does not count. An answer's value is {@code [u8 given up][u32 entries read]} and, for each place, the
 * qualifier and {@code [u32 hits]}. A place may occur again in a later answer. An answer's key is that of the last
 * entry that was read for it, after which a scan that was torn down is resumed.
 */
public class IndexHitsIterator extends AnswerIterator {
  /** Option: the number of bytes of a row before the value. */
  public static final String SKIP = "skip";
  /** Options: base64 of the first qualifier that counts, and of the first one after those that count. */
  public static final String LOW = "low";

  public static final String HIGH = "high";
  /** Option: base64 of a filter program with one condition that values must satisfy; without it all values pass. */
  public static final String TEST = "test";
  /** Option: {@code true} if the rows have the values' bytes in reverse order. */
  public static final String REVERSED = "reversed";
  /**
   * Option: the length to which longer values are cut. The rest of a value of this length is not known, so it passes.
   */
  public static final String CUT = "cut";
  /** Option: the number of entries after which the range is given up; without it all are read. */
  public static final String MOST = "most";

  /** The number of bytes of a cut value that are a hash of the whole. */
  private static final int HASH = 16;

  /** The greatest number of places in an answer. */
  private static final int PLACES = 4096;
  /** Number of entries that are skipped one by one before a seek is cheaper. A seek counts as that many entries. */
  private static final int STEPS_BEFORE_SEEK = 10;

  private Map<String, String> options;
  /** Kept as long as the filters that refer to them. */
  private List<ValueSet> sets;
  private SortedKeyValueIterator<Key, Value> source;
  private int skip;
  private byte[] low;
  private byte[] high;
  private Condition test;
  private boolean reversed;
  private int cut;
  private long most;

  private final Map<ByteSequence, int[]> places = new HashMap<>();
  /** The range that is left to read; null when there is none. */
  private Range range;
  private Collection<ByteSequence> families;
  private boolean inclusive;
  private long read;
  private byte[] row;

  @Override
  public void init(
      SortedKeyValueIterator<Key, Value> source, Map<String, String> options, IteratorEnvironment environment) {
    this.source = source;
    this.options = Map.copyOf(options);
    sets = ValueSets.load(options);
    skip = Integer.parseInt(options.get(SKIP));
    low = Base64.getDecoder().decode(options.get(LOW));
    high = Base64.getDecoder().decode(options.get(HIGH));
    String program = options.get(TEST);
    test = program == null ? null : FilterProgram.decode(Base64.getDecoder().decode(program), new OneCondition());
    reversed = Boolean.parseBoolean(options.get(REVERSED));
    cut = Integer.parseInt(options.getOrDefault(CUT, "-1"));
    most = Long.parseLong(options.getOrDefault(MOST, String.valueOf(Long.MAX_VALUE)));
  }

  @Override
  public void seek(Range range, Collection<ByteSequence> families, boolean inclusive) throws IOException {
    this.range = range;
    this.families = families;
    this.inclusive = inclusive;
    read = 0;
    row = null;
    source.seek(range, families, inclusive);
    next();
  }

  @Override
  public void next() throws IOException {
    clearTop();
    places.clear();
    long before = read;
    Key last = null;
    while (range != null && source.hasTop() && places.size() < PLACES && read < most) {
      last = source.getTopKey();
      byte[] next = last.getRowData().toArray();
      if (!Arrays.equals(next, row)) {
        row = next;
        if (!passes()) {
          skipValues(last.followingKey(PartialKey.ROW));
          continue;
        }
      }
      ByteSequence place = last.getColumnQualifierData();
      if (compare(place, low) < 0) {
        skipTo(new Key(row, last.getColumnFamilyData().toArray(), low, new byte[0], Long.MAX_VALUE, false, false));
      } else if (compare(place, high) >= 0) {
        skipTo(last.followingKey(PartialKey.ROW));
      } else {
        addHits(place.toArray(), source.getTopValue());
        source.next();
        read++;
      }
    }
    if (last == null) {
      return;
    }
    boolean givenUp = range != null && source.hasTop() && read >= most;
    topKey = new Key(last);
    topValue = answer(givenUp, read - before);
    if (givenUp) {
      range = null;
    }
  }

  /** Returns whether the value of the current row passes the test. */
  private boolean passes() {
    int length = row.length - skip;
    if (test == null || length == cut) {
      return true;
    }
    if (!reversed) {
      return test.test(row, skip, row.length);
    }
    byte[] value = new byte[length];
    for (int i = 0; i < length; i++) {
      value[i] = row[row.length - 1 - i];
    }
    return test.test(value, 0, length);
  }

  /**
   * Moves the source to the next row whose value may pass: at least to {@code following}, and to the next value of the
   * list if the test is one. So of the rows and of the list, which both ascend, each is read only where the other is.
   */
  private void skipValues(Key following) throws IOException {
    if (!(test instanceof Condition.Listed) || reversed) {
      skipTo(following);
      return;
    }
    byte[] next = ((Condition.Listed) test).next(row, skip, row.length);
    if (next == null) {
      range = null;
      return;
    }
    // A value that is cut in the index begins as the whole one does.
    int kept = cut < 0 ? next.length : Math.min(next.length, cut - HASH);
    byte[] target = Arrays.copyOf(row, skip + kept);
    System.arraycopy(next, 0, target, skip, kept);
    Key key = AnswerKeys.key(target);
    skipTo(key.compareTo(following) > 0 ? key : following);
  }

  private static int compare(ByteSequence place, byte[] bound) {
    byte[] bytes = place.getBackingArray();
    int from = place.offset();
    return Arrays.compareUnsigned(bytes, from, from + place.length(), bound, 0, bound.length);
  }

  /** Adds the hits of an entry: of its own place, and of those that its value names. */
  private void addHits(byte[] place, Value value) {
    int size = value.getSize();
    if (size == 0) {
      addHits(place, 0, place.length, 1);
      return;
    }
    if (size % (place.length + Integer.BYTES) != Integer.BYTES) {
      throw new IllegalStateException("numbers of hits in " + size + " bytes, for a place of " + place.length);
    }
    byte[] bytes = value.get();
    addHits(place, 0, place.length, BigEndian.getInt(bytes, 0));
    for (int at = Integer.BYTES; at < size; at += place.length + Integer.BYTES) {
      addHits(bytes, at, place.length, BigEndian.getInt(bytes, at + place.length));
    }
  }

  private void addHits(byte[] bytes, int from, int length, int hits) {
    if (hits > 0) {
      places.computeIfAbsent(new ArrayByteSequence(bytes, from, length), any -> new int[1])[0] += hits;
    }
  }

  private Value answer(boolean givenUp, long entries) {
    int width = places.isEmpty() ? 0 : places.keySet().iterator().next().length();
    byte[] out = new byte[1 + Integer.BYTES + places.size() * (width + Integer.BYTES)];
    out[0] = (byte) (givenUp ? 1 : 0);
    BigEndian.putInt(out, 1, (int) Math.min(entries, Integer.MAX_VALUE));
    int at = 1 + Integer.BYTES;
    for (Map.Entry<ByteSequence, int[]> place : places.entrySet()) {
      ByteSequence qualifier = place.getKey();
      if (qualifier.length() != width) {
        throw new IllegalStateException("places of " + width + " and of " + qualifier.length() + " bytes in one index");
      }
      System.arraycopy(qualifier.getBackingArray(), qualifier.offset(), out, at, width);
      BigEndian.putInt(out, at + width, place.getValue()[0]);
      at += width + Integer.BYTES;
    }
    return new Value(out, false);
  }

  /** Moves the source to the first entry from a key on: by steps, then by a seek. */
  private void skipTo(Key target) throws IOException {
    for (int i = 0; i < STEPS_BEFORE_SEEK; i++) {
      source.next();
      read++;
      if (!source.hasTop() || source.getTopKey().compareTo(target) >= 0) {
        return;
      }
    }
    range = AnswerKeys.from(target, range);
    if (range != null) {
      source.seek(range, families, inclusive);
      read += STEPS_BEFORE_SEEK;
    }
  }

  @Override
  public SortedKeyValueIterator<Key, Value> deepCopy(IteratorEnvironment environment) {
    IndexHitsIterator copy = new IndexHitsIterator();
    copy.init(source.deepCopy(environment), options, environment);
    return copy;
  }

  /** Builds the condition of a program that is one condition, and refuses any other. */
  private static final class OneCondition implements FilterProgram.Builder<Condition> {
    @Override
    public Condition and(List<Condition> children) {
      throw new IllegalArgumentException("a test of values is one condition");
    }

    @Override
    public Condition or(List<Condition> children) {
      return and(children);
    }

    @Override
    public Condition not(Condition child) {
      return and(List.of());
    }

    @Override
    public Condition exists(FilterProgram.Kind kind, String field) {
      return and(List.of());
    }

    @Override
    public Condition field(FilterProgram.Kind kind, String field, Condition condition) {
      return condition;
    }

    @Override
    public int slot(FilterProgram.Kind kind, String field) {
      return 0;
    }

    @Override
    public Condition computed(Computed condition) {
      return and(List.of());
    }
  }
}

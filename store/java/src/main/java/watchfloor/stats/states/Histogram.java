package watchfloor.stats.states;

import java.util.Arrays;
import org.apache.datasketches.kll.KllDoublesSketch;
import watchfloor.stats.LongIntMap;
import watchfloor.stats.StatsColumn;
import watchfloor.stats.StatsWriter;

/**
 * The distinct numbers, with the number of times that each occurs. Written as <pre>
 * u32 pairs | pairs × u32 group | pairs × u64 encoded number | pairs × i64 count
 * u32 sketches | sketches × { u32 group, u32 length, KLL sketch of doubles }
 * </pre> A group with more than {@link ValueSet#EXACT} distinct numbers is written as a sketch.
 */
final class Histogram extends FieldState {
  /** The parameter k of the sketch: the error of a rank is about 1.3 percent, with 99 percent confidence. */
  static final int ACCURACY = 200;

  /** About the memory of a sketch. */
  private static final int SKETCH_BYTES = 8 << 10;

  private final LongIntMap numbers = new LongIntMap();
  private final LongIntMap pairs = new LongIntMap();
  private final boolean isFloat;
  /** By pair. */
  private long[] counts = new long[0];
  /** By group: the number of its distinct numbers, and its sketch if these are too many to keep. */
  private int[] sizes = new int[0];
  private KllDoublesSketch[] sketches = new KllDoublesSketch[0];
  private int sketched;
  private long[] read = new long[0];

  Histogram(int field, boolean isFloat) {
    super(field);
    this.isFloat = isFloat;
  }

  @Override
  public void grow(int groups) {
    if (sizes.length < groups) {
      int room = Math.max(groups, sizes.length * 2);
      sizes = Arrays.copyOf(sizes, room);
      sketches = Arrays.copyOf(sketches, room);
    }
  }

  @Override
  void addValues(StatsColumn column, int[] rows, int[] groups, int count) {
    if (read.length < count) {
      read = new long[count];
    }
    column.numbers(rows, count, read);
    for (int i = 0; i < count; i++) {
      if (!column.isNull(rows[i])) {
        add(groups[i], read[i]);
      }
    }
  }

  private void add(int group, long number) {
    KllDoublesSketch sketch = sketches[group];
    if (sketch != null) {
      sketch.update(decode(number));
      return;
    }
    int known = pairs.size();
    int pair = pairs.add((long) group << Integer.SIZE | numbers.add(number));
    counts = Room.grow(counts, pair + 1);
    counts[pair]++;
    if (pair == known && ++sizes[group] > ValueSet.EXACT) {
      sketch(group);
    }
  }

  /** Puts the numbers of a group into a sketch. The pairs stay, and do not count any more. */
  private void sketch(int group) {
    KllDoublesSketch sketch = KllDoublesSketch.newHeapInstance(ACCURACY);
    for (int i = 0; i < pairs.size(); i++) {
      if (group(i) == group) {
        double number = decode(numbers.key((int) pairs.key(i)));
        for (long left = counts[i]; left > 0; left--) {
          sketch.update(number);
        }
      }
    }
    sketches[group] = sketch;
    sketched++;
  }

  private int group(int pair) {
    return (int) (pairs.key(pair) >>> Integer.SIZE);
  }

  @Override
  public long bytes() {
    return numbers.bytes()
        + pairs.bytes()
        + (long) counts.length * Long.BYTES
        + (long) sizes.length * 2 * Integer.BYTES
        + (long) sketched * SKETCH_BYTES;
  }

  private double decode(long encoded) {
    return isFloat ? FloatSum.decode(encoded) : (double) (encoded ^ Long.MIN_VALUE);
  }

  @Override
  public void write(StatsWriter out, int groups) {
    int exact = 0;
    for (int group = 0; group < groups; group++) {
      exact += sketches[group] == null ? sizes[group] : 0;
    }
    int[] kept = new int[exact];
    int at = 0;
    for (int i = 0; i < pairs.size(); i++) {
      if (sketches[group(i)] == null) {
        kept[at++] = i;
      }
    }
    out.putInt(exact);
    for (int i : kept) {
      out.putInt(group(i));
    }
    for (int i : kept) {
      out.putLong(numbers.key((int) pairs.key(i)));
    }
    for (int i : kept) {
      out.putLong(counts[i]);
    }
    out.putInt(sketched);
    for (int group = 0; group < groups; group++) {
      if (sketches[group] != null) {
        byte[] bytes = sketches[group].toByteArray();
        out.putInt(group);
        out.putInt(bytes.length);
        out.put(bytes, 0, bytes.length);
      }
    }
  }

  @Override
  public void clear() {
    numbers.clear();
    pairs.clear();
    counts = Room.clear(counts);
    sizes = new int[0];
    sketches = new KllDoublesSketch[0];
    sketched = 0;
  }
}

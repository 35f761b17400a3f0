package watchfloor.stats.states;

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

  private final LongIntMap numbers = new LongIntMap();
  private final LongIntMap pairs = new LongIntMap();
  private final boolean isFloat;
  private long[] counts = new long[0];
  private long[] read = new long[0];

  Histogram(int field, boolean isFloat) {
    super(field);
    this.isFloat = isFloat;
  }

  @Override
  public void grow(int groups) {}

  @Override
  void addValues(StatsColumn column, int[] rows, int[] groups, int count) {
    if (read.length < count) {
      read = new long[count];
    }
    column.numbers(rows, count, read);
    for (int i = 0; i < count; i++) {
      if (!column.isNull(rows[i])) {
        int pair = pairs.add((long) groups[i] << Integer.SIZE | numbers.add(read[i]));
        counts = Room.grow(counts, pair + 1);
        counts[pair]++;
      }
    }
  }

  @Override
  public long bytes() {
    return numbers.bytes() + pairs.bytes() + (long) counts.length * Long.BYTES;
  }

  private double decode(long encoded) {
    return isFloat ? FloatSum.decode(encoded) : (double) (encoded ^ Long.MIN_VALUE);
  }

  @Override
  public void write(StatsWriter out, int groups) {
    int[] sizes = new int[groups];
    for (int i = 0; i < pairs.size(); i++) {
      sizes[(int) (pairs.key(i) >>> Integer.SIZE)]++;
    }
    KllDoublesSketch[] sketches = new KllDoublesSketch[groups];
    int exact = 0;
    int sketched = 0;
    for (int group = 0; group < groups; group++) {
      if (sizes[group] > ValueSet.EXACT) {
        sketches[group] = KllDoublesSketch.newHeapInstance(ACCURACY);
        sketched++;
      } else {
        exact += sizes[group];
      }
    }
    int[] kept = new int[exact];
    int at = 0;
    for (int i = 0; i < pairs.size(); i++) {
      KllDoublesSketch sketch = sketches[(int) (pairs.key(i) >>> Integer.SIZE)];
      if (sketch == null) {
        kept[at++] = i;
      } else {
        double number = decode(numbers.key((int) pairs.key(i)));
        for (long left = counts[i]; left > 0; left--) {
          sketch.update(number);
        }
      }
    }
    out.putInt(exact);
    for (int i : kept) {
      out.putInt((int) (pairs.key(i) >>> Integer.SIZE));
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
  }
}

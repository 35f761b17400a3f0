package watchfloor.stats.states;

import java.nio.charset.StandardCharsets;
import org.apache.datasketches.hll.HllSketch;
import watchfloor.stats.BytesDictionary;
import watchfloor.stats.CodeNumbers;
import watchfloor.stats.LongIntMap;
import watchfloor.stats.StatsColumn;
import watchfloor.stats.StatsWriter;

/**
 * The distinct values. Written as <pre>
 * u32 n | n × u32 ends of values | values
 * u32 pairs | pairs × u32 group | pairs × u32 number of the value
 * u32 sketches | sketches × { u32 group, u32 length, HLL sketch }
 * </pre> A group with more than {@link #EXACT} values is written as a sketch.
 */
final class ValueSet extends FieldState {
  /** The number of values of a group up to which they are kept themselves. */
  static final int EXACT = 4096;
  /** The sketch has 2^12 registers: its relative standard error is 1.6 percent. */
  static final int LOG2_REGISTERS = 12;

  private final CodeNumbers numbers = new CodeNumbers(this::write);
  /** Pairs of a group and the number of a value. */
  private final LongIntMap pairs = new LongIntMap();
  private StatsColumn column;
  private int[] codes = new int[0];

  ValueSet(int field) {
    super(field);
  }

  @Override
  public void grow(int groups) {}

  @Override
  void addValues(StatsColumn column, int[] rows, int[] groups, int count) {
    if (codes.length < count) {
      codes = new int[count];
    }
    this.column = column;
    int none = column.code(rows, count, codes);
    numbers.begin(column, none, count);
    for (int i = 0; i < count; i++) {
      if (codes[i] != none) {
        pairs.add((long) groups[i] << Integer.SIZE | numbers.number(codes[i]));
      }
    }
  }

  private void write(int code, StatsWriter out) {
    column.value(code, out);
  }

  @Override
  public long bytes() {
    return numbers.bytes() + pairs.bytes();
  }

  @Override
  public void write(StatsWriter out, int groups) {
    int[] sizes = new int[groups];
    for (int i = 0; i < pairs.size(); i++) {
      sizes[(int) (pairs.key(i) >>> Integer.SIZE)]++;
    }
    HllSketch[] sketches = new HllSketch[groups];
    int exact = 0;
    int sketched = 0;
    for (int group = 0; group < groups; group++) {
      if (sizes[group] > EXACT) {
        sketches[group] = new HllSketch(LOG2_REGISTERS);
        sketched++;
      } else {
        exact += sizes[group];
      }
    }
    BytesDictionary values = numbers.values();
    int[] of = new int[exact];
    int[] number = new int[exact];
    int at = 0;
    for (int i = 0; i < pairs.size(); i++) {
      int group = (int) (pairs.key(i) >>> Integer.SIZE);
      int value = (int) pairs.key(i);
      if (sketches[group] == null) {
        of[at] = group;
        number[at++] = value;
      } else {
        // As Python updates its sketches with texts: a byte is a character.
        int start = values.start(value);
        sketches[group].update(
            new String(values.data(), start, values.end(value) - start, StandardCharsets.ISO_8859_1));
      }
    }
    values.write(out);
    out.putInt(exact);
    for (int group : of) {
      out.putInt(group);
    }
    for (int value : number) {
      out.putInt(value);
    }
    out.putInt(sketched);
    for (int group = 0; group < groups; group++) {
      if (sketches[group] != null) {
        byte[] bytes = sketches[group].toCompactByteArray();
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
  }
}

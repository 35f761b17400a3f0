package watchfloor.block.stats;

import watchfloor.block.vector.Vector;
import watchfloor.stats.BytesDictionary;
import watchfloor.stats.LongIntMap;
import watchfloor.stats.StatsColumn;
import watchfloor.stats.StatsWriter;

/** A field's vector as a {@link StatsColumn}. A dictionary's codes are used as they are. */
public final class VectorColumn implements StatsColumn {
  /** Numbers within so narrow a range are told apart by their distance from the least. */
  private static final long NARROW = 1 << 16;

  private Vector vector;
  private VectorColumn elements;
  /** The codes of a dictionary; null for other forms. */
  private int[] all;

  // The values of the last codes, for numbers and for plain values.
  private final LongIntMap numbers = new LongIntMap();
  private final BytesDictionary values = new BytesDictionary();
  private long[] read = new long[0];
  private long least;
  private boolean isNarrow;

  /** Begins to read a vector. Returns this. */
  public VectorColumn wrap(Vector vector) {
    this.vector = vector;
    all = vector.form() == Vector.DICTIONARY ? vector.codes() : null;
    if (vector.form() != Vector.DICTIONARY) {
      vector.readNulls();
    }
    return this;
  }

  @Override
  public boolean isList() {
    return vector.form() == Vector.LIST;
  }

  @Override
  public boolean isNull(int row) {
    return all != null ? all[row] == vector.entries() : !vector.isValid(row);
  }

  @Override
  public int start(int row) {
    return vector.start(row);
  }

  @Override
  public StatsColumn elements() {
    if (elements == null) {
      elements = new VectorColumn();
    }
    return elements.wrap(vector.elements());
  }

  @Override
  public int code(int[] rows, int count, int[] codes) {
    switch (vector.form()) {
      case Vector.DICTIONARY:
        for (int i = 0; i < count; i++) {
          codes[i] = all[rows[i]];
        }
        return vector.entries();
      case Vector.NUMBERS:
        return codeNumbers(rows, count, codes);
      default:
        return codePlain(rows, count, codes);
    }
  }

  private int codeNumbers(int[] rows, int count, int[] codes) {
    if (read.length < count) {
      read = new long[count];
    }
    vector.numbers(rows, count, read);
    boolean nulls = vector.hasBitmap();
    least = -1;
    long most = 0;
    for (int i = 0; i < count; i++) {
      if (!nulls || vector.isValid(rows[i])) {
        least = Long.compareUnsigned(read[i], least) < 0 ? read[i] : least;
        most = Long.compareUnsigned(read[i], most) > 0 ? read[i] : most;
      }
    }
    isNarrow = Long.compareUnsigned(most, least) < 0 || Long.compareUnsigned(most - least, NARROW) < 0;
    numbers.clear();
    int end = isNarrow ? Math.max(0, (int) (most - least) + 1) : 0;
    for (int i = 0; i < count; i++) {
      boolean isNull = nulls && !vector.isValid(rows[i]);
      codes[i] = isNull ? -1 : isNarrow ? (int) (read[i] - least) : numbers.add(read[i]);
    }
    end = isNarrow ? end : numbers.size();
    if (nulls) {
      for (int i = 0; i < count; i++) {
        codes[i] = codes[i] < 0 ? end : codes[i];
      }
    }
    return end;
  }

  private int codePlain(int[] rows, int count, int[] codes) {
    values.clear();
    byte[] bytes = vector.bytes();
    boolean nulls = vector.hasBitmap();
    for (int i = 0; i < count; i++) {
      int row = rows[i];
      codes[i] = nulls && !vector.isValid(row) ? -1 : values.add(bytes, vector.start(row), vector.start(row + 1));
    }
    if (nulls) {
      for (int i = 0; i < count; i++) {
        codes[i] = codes[i] < 0 ? values.size() : codes[i];
      }
    }
    return values.size();
  }

  @Override
  public byte[] dictionary() {
    return vector.form() == Vector.DICTIONARY ? vector.bytes() : null;
  }

  @Override
  public void value(int code, StatsWriter out) {
    switch (vector.form()) {
      case Vector.DICTIONARY:
        out.put(vector.bytes(), vector.start(code), vector.start(code + 1));
        break;
      case Vector.NUMBERS:
        out.putBigEndian(isNarrow ? least + code : numbers.key(code), vector.valueBytes());
        break;
      default:
        out.put(values.data(), values.start(code), values.end(code));
    }
  }

  @Override
  public void numbers(int[] rows, int count, long[] into) {
    if (vector.form() == Vector.NUMBERS) {
      vector.numbers(rows, count, into);
      if (vector.valueBytes() < Long.BYTES) {
        for (int i = 0; i < count; i++) {
          into[i] ^= Long.MIN_VALUE;
        }
      }
      return;
    }
    if (all == null) {
      throw new IllegalStateException("vector: a field of numbers has a vector of the form " + vector.form());
    }
    byte[] bytes = vector.bytes();
    for (int i = 0; i < count; i++) {
      int code = all[rows[i]];
      into[i] = code == vector.entries() ? 0 : StatsColumn.number(bytes, vector.start(code), vector.start(code + 1));
    }
  }
}

package watchfloor.block.vector;

import java.util.Arrays;
import java.util.function.IntPredicate;
import watchfloor.block.vector.packing.LittleEndian;
import watchfloor.block.vector.packing.PackedBits;
import watchfloor.block.vector.packing.SymbolTable;

/**
 * Reads the values of a dictionary or of a plain vector: bytes of any length, one value after the other.
 *
 * <p>In version 1 there are a u32 length for each value, and the values. In version 2, where any value is read alone: <pre>
 * u8 kind: 0 as they are, 1 compressed by symbols | u8 width of a length | u32 length of all values as stored
 * [the symbols: SymbolTable] | for each 32nd value: u32 its start | packed lengths | values
 * </pre>
 */
final class ValueSection {
  /** Each of so many values has its start written down; those between are found by adding up lengths. */
  static final int ANCHORED = 32;
  private static final int RAW = 0;
  private static final int SYMBOLS = 1;
  private static final int HEADER = 2 + Integer.BYTES;
  private static final int WIDEST_LENGTH = 30;
  /** If fewer values than this fraction (1 / SPARSE) are wanted, only these are read. */
  private static final int SPARSE = 4;

  private final VectorHeader header;
  private final IntPredicate isValid;
  private final SymbolTable symbols = new SymbolTable();

  private byte[] stored;
  private boolean packed;
  private int kind;
  private int count;
  private int width;
  private int lengthsAt;
  private int anchorsAt;
  private int from;
  private int to;
  /** Whether the starts of all values are known, which lie in {@link #all}. */
  private boolean read;
  private int[] starts = new int[0];
  private byte[] all;
  private byte[] room = new byte[0];
  private byte[] some = new byte[0];
  // The place, the start and the end of a single value.
  private final int[] one = new int[1];
  private final int[] begins = new int[1];
  private final int[] ends = new int[1];

  /** @param isValid whether a row of a plain vector is not null */
  ValueSection(VectorHeader header, IntPredicate isValid) {
    this.header = header;
    this.isValid = isValid;
  }

  /** Begins to read values of version 1, whose lengths begin at {@code lengths} and which fill [from, to). */
  void begin(byte[] bytes, int lengths, int values, int from, int to) {
    stored = bytes;
    packed = false;
    kind = RAW;
    lengthsAt = lengths;
    count = values;
    this.from = from;
    this.to = to;
    read = false;
  }

  /** Begins to read values of version 2, and returns their end. */
  int beginPacked(byte[] bytes, int at, int end, int values) {
    if (end - at < HEADER) {
      throw header.bad("the payload ends within the header of its values");
    }
    stored = bytes;
    packed = true;
    count = values;
    kind = bytes[at];
    width = bytes[at + 1];
    int size = LittleEndian.getInt(bytes, at + 2);
    if (kind != RAW && kind != SYMBOLS || width < 0 || width > WIDEST_LENGTH) {
      throw header.bad("values of kind " + kind + " with lengths of " + width + " bits are not known");
    }
    anchorsAt = kind == SYMBOLS ? symbols.read(bytes, at + HEADER, end) : at + HEADER;
    if (anchorsAt < 0) {
      throw header.bad("its symbols are damaged");
    }
    long anchors = (values + ANCHORED - 1L) / ANCHORED * Integer.BYTES;
    long values0 = anchorsAt + anchors + PackedBits.length(values, width);
    if (size < 0 || values0 + size > end) {
      throw header.bad("the payload ends within its values");
    }
    lengthsAt = anchorsAt + (int) anchors;
    from = (int) values0;
    to = from + size;
    read = false;
    return to;
  }

  /** Returns the array with all values, into which {@link #start} points. */
  byte[] bytes() {
    if (!packed) {
      return stored;
    }
    readAll();
    return all;
  }

  /** Returns the start of value i, which is the end of value i - 1, in {@link #bytes}. */
  int start(int i) {
    if (!read) {
      readAll();
    }
    return starts[i];
  }

  /** Returns the {@link #start} of each value, and the end of the last one. */
  int[] starts() {
    readAll();
    return starts;
  }

  private void readAll() {
    if (read) {
      return;
    }
    if (starts.length <= count) {
      starts = new int[count + 1];
    }
    if (packed) {
      PackedBits.getRange(stored, lengthsAt, width, 0, count, starts);
    } else {
      LittleEndian.getAll(stored, lengthsAt, Integer.BYTES, count, starts);
    }
    int at = from;
    boolean nulls = header.hasNulls();
    for (int i = 0; i < count; i++) {
      int length = starts[i];
      starts[i] = at;
      if (nulls && length != 0 && !isValid.test(i)) {
        throw header.bad("null has a length, in row " + i);
      }
      if (length < 0 || length > to - at) {
        throw header.bad("value " + i + " is longer than what is left of the payload");
      }
      at += length;
    }
    if (at != to) {
      throw header.bad("the payload is " + (to - at) + " bytes too long");
    }
    starts[count] = at;
    all = stored;
    if (kind == SYMBOLS) {
      decompressAll();
    }
    read = true;
  }

  private void decompressAll() {
    int at = 0;
    int begin = from;
    for (int i = 0; i < count; i++) {
      int end = starts[i + 1];
      room = grow(room, at, end - begin);
      starts[i] = at;
      at = decompress(begin, end, room, at);
      begin = end;
    }
    starts[count] = at;
    all = room;
  }

  private byte[] grow(byte[] array, int at, int stored) {
    long needed = at + (stored + 1L) * SymbolTable.LONGEST;
    if (needed <= array.length) {
      return array;
    }
    if (needed > VectorHeader.MAX_LENGTH) {
      throw header.bad("its values have more than " + VectorHeader.MAX_LENGTH + " bytes");
    }
    return Arrays.copyOf(array, (int) Math.min(VectorHeader.MAX_LENGTH, needed * 2));
  }

  private int decompress(int begin, int end, byte[] into, int at) {
    int reached = symbols.decompress(stored, begin, end, into, at);
    if (reached < 0) {
      throw header.bad("a value has a code without a symbol");
    }
    return reached;
  }

  /**
   * Finds the starts and the ends of the first {@code many} of some values, ascending, and returns the array in which
   * they lie until the next call.
   */
  byte[] spans(int[] places, int many, int[] starts, int[] ends) {
    if (read || many > count / SPARSE) {
      for (int i = 0; i < many; i++) {
        starts[i] = start(places[i]);
        ends[i] = this.starts[places[i] + 1];
      }
      return bytes();
    }
    return packed ? findPacked(places, many, starts, ends) : addUp(places, many, starts, ends);
  }

  private byte[] addUp(int[] places, int many, int[] starts, int[] ends) {
    int next = 0;
    long at = from;
    for (int i = 0; i < many; i++) {
      int lengths = lengthsAt + next * Integer.BYTES;
      long begin = at + LittleEndian.sum(stored, lengths, places[i] - next);
      at = begin + LittleEndian.sum(stored, lengthsAt + places[i] * Integer.BYTES, 1);
      if (at > to) {
        throw header.bad("value " + places[i] + " ends behind the payload");
      }
      starts[i] = (int) begin;
      ends[i] = (int) at;
      next = places[i] + 1;
    }
    return stored;
  }

  private byte[] findPacked(int[] places, int many, int[] starts, int[] ends) {
    int at = 0;
    for (int i = 0; i < many; i++) {
      int begin = find(places[i]);
      int end = begin + (int) PackedBits.get(stored, lengthsAt, width, places[i]);
      if (end > to) {
        throw header.bad("value " + places[i] + " ends behind the payload");
      }
      if (kind == RAW) {
        starts[i] = begin;
        ends[i] = end;
        continue;
      }
      some = grow(some, at, end - begin);
      starts[i] = at;
      at = decompress(begin, end, some, at);
      ends[i] = at;
    }
    return kind == RAW ? stored : some;
  }

  /** Returns where a value is stored. */
  private int find(int place) {
    int anchor = place / ANCHORED;
    long at = from + (LittleEndian.getInt(stored, anchorsAt + anchor * Integer.BYTES) & 0xFFFF_FFFFL);
    for (int i = anchor * ANCHORED; i < place; i++) {
      at += PackedBits.get(stored, lengthsAt, width, i);
    }
    if (at > to) {
      throw header.bad("value " + place + " begins behind the payload");
    }
    return (int) at;
  }

  /** Returns whether a value passes a test. */
  boolean holds(int place, Vector.Test test) {
    if (read || !packed) {
      return test.holds(bytes(), start(place), starts[place + 1]);
    }
    one[0] = place;
    byte[] bytes = findPacked(one, 1, begins, ends);
    return test.holds(bytes, begins[0], ends[0]);
  }

  /** Returns the first value of which the bytes pass a test, as those of all values after it must. */
  int first(Vector.Test test) {
    int low = 0;
    int high = count;
    while (low < high) {
      int middle = (low + high) >>> 1;
      if (holds(middle, test)) {
        high = middle;
      } else {
        low = middle + 1;
      }
    }
    return low;
  }

  /** Returns the place of a value among values that are ascending; -1 if it is not there. */
  int place(byte[] value) {
    int found = first((bytes, from, to) -> Arrays.compareUnsigned(bytes, from, to, value, 0, value.length) >= 0);
    boolean isSame =
        found < count && holds(found, (bytes, from, to) -> Arrays.equals(bytes, from, to, value, 0, value.length));
    return isSame ? found : -1;
  }
}

package watchfloor.bridge.columns;

import java.nio.ByteOrder;
import java.util.Arrays;
import org.apache.arrow.c.CDataDictionaryProvider;
import org.apache.arrow.memory.ArrowBuf;
import org.apache.arrow.vector.BaseIntVector;
import org.apache.arrow.vector.BaseVariableWidthVector;
import org.apache.arrow.vector.FieldVector;
import org.apache.arrow.vector.FixedSizeBinaryVector;
import org.apache.arrow.vector.IntVector;
import org.apache.arrow.vector.types.pojo.DictionaryEncoding;

/**
 * A column of byte strings, copied out of its vector into arrays. Reading a value then costs an array copy. A vector's
 * own getters check bounds and allocate for each value.
 */
public final class ByteColumn {
  private static final byte[] EMPTY = new byte[0];

  private final byte[] data;
  /** The start of value i in {@link #data}, which is the end of value i - 1. */
  private final int[] starts;
  /** A bitmap with a bit per row, 0 for null; null if no value is null. */
  private final byte[] validity;
  /** The index of each row's value in the dictionary; null if the column has no dictionary. */
  private final int[] codes;
  private final byte[][] decoded;

  private ByteColumn(byte[] data, int[] starts, byte[] validity, int[] codes) {
    this.data = data;
    this.starts = starts;
    this.validity = validity;
    this.codes = codes;
    this.decoded = codes == null ? null : new byte[starts.length - 1][];
  }

  /**
   * Reads a binary, string, fixed-size binary or dictionary vector. Throws an IllegalArgumentException for any other.
   */
  static ByteColumn of(FieldVector vector, CDataDictionaryProvider dictionaries) {
    DictionaryEncoding encoding = vector.getField().getDictionary();
    if (encoding == null) {
      return plain(vector);
    }
    ByteColumn values = plain((FieldVector) dictionaries.lookup(encoding.getId()).getVector());
    if (values.validity != null) {
      throw new IllegalArgumentException("column " + vector.getName() + ": null within its dictionary");
    }
    return new ByteColumn(values.data, values.starts, validity(vector), codes(vector));
  }

  /** Returns the indices of a dictionary vector, 0 for null. */
  private static int[] codes(FieldVector vector) {
    int[] codes = new int[vector.getValueCount()];
    if (vector instanceof IntVector && vector.getNullCount() == 0) {
      copy(vector.getDataBuffer(), codes);
      return codes;
    }
    BaseIntVector indices = (BaseIntVector) vector;
    for (int i = 0; i < codes.length; i++) {
      codes[i] = vector.isNull(i) ? 0 : (int) indices.getValueAsLong(i);
    }
    return codes;
  }

  private static ByteColumn plain(FieldVector vector) {
    int count = vector.getValueCount();
    int[] starts = new int[count + 1];
    if (vector instanceof FixedSizeBinaryVector) {
      int width = ((FixedSizeBinaryVector) vector).getByteWidth();
      Arrays.setAll(starts, i -> i * width);
    } else if (vector instanceof BaseVariableWidthVector) {
      if (count > 0) {
        copy(vector.getOffsetBuffer(), starts);
      }
    } else {
      throw new IllegalArgumentException("column " + vector.getName() + " is not binary: " + vector.getField());
    }
    int base = starts[0];
    byte[] data = copy(vector.getDataBuffer(), base, starts[count] - base);
    if (base != 0) {
      for (int i = 0; i <= count; i++) {
        starts[i] -= base;
      }
    }
    return new ByteColumn(data, starts, validity(vector), null);
  }

  private static byte[] validity(FieldVector vector) {
    return vector.getNullCount() == 0 ? null : copy(vector.getValidityBuffer(), 0, (vector.getValueCount() + 7) / 8);
  }

  private static void copy(ArrowBuf from, int[] to) {
    from.nioBuffer(0, to.length * Integer.BYTES).order(ByteOrder.LITTLE_ENDIAN).asIntBuffer().get(to);
  }

  private static byte[] copy(ArrowBuf from, long offset, int length) {
    byte[] bytes = length == 0 ? EMPTY : new byte[length];
    if (length > 0) {
      from.getBytes(offset, bytes, 0, length);
    }
    return bytes;
  }

  public boolean isNull(int row) {
    return validity != null && (validity[row >> 3] >> (row & 7) & 1) == 0;
  }

  /** Returns the array to which {@link #start} and {@link #length} refer. */
  public byte[] data() {
    return data;
  }

  public int start(int row) {
    return starts[codes == null ? row : codes[row]];
  }

  public int length(int row) {
    int at = codes == null ? row : codes[row];
    return starts[at + 1] - starts[at];
  }

  /** Returns a row's value as an array, which must not be changed: rows of a dictionary column share arrays. */
  public byte[] get(int row) {
    if (codes == null) {
      return slice(row);
    }
    byte[] known = decoded[codes[row]];
    return known != null ? known : (decoded[codes[row]] = slice(codes[row]));
  }

  private byte[] slice(int at) {
    return starts[at] == starts[at + 1] ? EMPTY : Arrays.copyOfRange(data, starts[at], starts[at + 1]);
  }

  /** Returns whether two rows hold the same bytes. */
  public boolean same(int row, int other) {
    if (codes != null && codes[row] == codes[other]) {
      return true;
    }
    int start = start(row);
    int from = start(other);
    return Arrays.equals(data, start, start + length(row), data, from, from + length(other));
  }
}

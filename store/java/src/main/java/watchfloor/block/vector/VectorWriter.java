package watchfloor.block.vector;

import java.util.Arrays;
import java.util.zip.CRC32;
import watchfloor.block.vector.packing.LittleEndian;
import watchfloor.iterators.AnswerKeys;
import watchfloor.iterators.BigEndian;

/**
 * Writes answers: vectors of selected rows of other vectors, not compressed and without bounds. All vectors of an
 * answer are written to one buffer, which is used again for the next answer.
 */
public final class VectorWriter {
  private final CRC32 crc = new CRC32();
  private byte[] bytes = new byte[1 << 16];
  private int size;

  /** Codes of the selected rows. */
  private int[] codes = new int[0];
  private long[] numbers = new long[0];

  /** The starts and the ends of some values. */
  private int[] froms = new int[0];
  private int[] tos = new int[0];

  // For the present dictionary: the codes that the selection uses, ascending, and the new code of each.
  private int[] used = new int[0];
  private int[] renamed = new int[0];
  private boolean[] seen = new boolean[0];
  /** Elements of the selected lists. */
  private int[] elements = new int[0];

  public void clear() {
    size = 0;
  }

  public byte[] toByteArray() {
    return Arrays.copyOf(bytes, size);
  }

  /** Appends a field: its index in the columns and a stored vector, unchanged. */
  public void put(int place, byte[] vector) {
    int at = claim(AnswerKeys.FIELD_HEADER + (long) vector.length);
    BigEndian.putShort(bytes, at, place);
    BigEndian.putInt(bytes, at + Short.BYTES, vector.length);
    System.arraycopy(vector, 0, bytes, at + AnswerKeys.FIELD_HEADER, vector.length);
  }

  /** Appends a field with the selected rows of a vector; appends nothing if all of them are null. */
  public void put(int place, Vector vector, int[] rows, int count) {
    int at = claim(AnswerKeys.FIELD_HEADER);
    if (!write(vector, rows, count)) {
      size = at;
      return;
    }
    BigEndian.putShort(bytes, at, place);
    BigEndian.putInt(bytes, at + Short.BYTES, size - at - AnswerKeys.FIELD_HEADER);
  }

  /** Extends the answer by {@code length} bytes and returns their start. */
  private int claim(long length) {
    int at = size;
    if (length > bytes.length - at) {
      if (at + length > Integer.MAX_VALUE - 8) {
        throw new IllegalStateException("an answer of more than 2 GB");
      }
      bytes = Arrays.copyOf(bytes, (int) Math.min(Integer.MAX_VALUE - 8L, Math.max(bytes.length * 2L, at + length)));
    }
    size = at + (int) length;
    return at;
  }

  /** Appends a vector. Returns false if all its values are null; the caller must then discard what was appended. */
  private boolean write(Vector vector, int[] rows, int count) {
    int at = claim(VectorHeader.SIZE);
    Arrays.fill(bytes, at, size, (byte) 0);
    bytes[at] = (byte) VectorHeader.MAGIC;
    bytes[at + 1] = VectorHeader.VERSION;
    bytes[at + 2] = (byte) vector.form();
    LittleEndian.putInt(bytes, at + 8, count);
    boolean any;
    switch (vector.form()) {
      case Vector.DICTIONARY:
        any = writeDictionary(at, vector, rows, count);
        break;
      case Vector.PLAIN:
        any = writePlain(at, vector, rows, count);
        break;
      case Vector.NUMBERS:
        any = writeNumbers(at, vector, rows, count);
        break;
      default:
        any = writeList(at, vector, rows, count);
    }
    LittleEndian.putInt(bytes, at + 12, size - at - VectorHeader.SIZE);
    crc.reset();
    crc.update(bytes, at, VectorHeader.CRC_AT);
    crc.update(bytes, at + VectorHeader.CRC_AT + Integer.BYTES, size - at - VectorHeader.CRC_AT - Integer.BYTES);
    LittleEndian.putInt(bytes, at + VectorHeader.CRC_AT, (int) crc.getValue());
    return any;
  }

  private void flags(int header, int flags) {
    bytes[header + 4] = (byte) flags;
  }

  private void width(int header, int width) {
    bytes[header + 6] = (byte) width;
  }

  /** Appends the bitmap of the selected rows if one of them is null. Returns the number of rows that are not null. */
  private int writeBitmap(int header, Vector vector, int[] rows, int count) {
    if (!vector.hasBitmap()) {
      return count;
    }
    vector.readNulls();
    int at = claim((count + 7) / 8);
    Arrays.fill(bytes, at, size, (byte) 0);
    int valid = 0;
    for (int i = 0; i < count; i++) {
      if (vector.isValid(rows[i])) {
        bytes[at + (i >> 3)] |= (byte) (1 << (i & 7));
        valid++;
      }
    }
    if (valid == count) {
      size = at;
    } else {
      flags(header, VectorHeader.NULLS);
    }
    return valid;
  }

  private boolean writeDictionary(int header, Vector vector, int[] rows, int count) {
    if (codes.length < count) {
      codes = new int[count];
    }
    vector.codes(rows, count, codes);
    int entries = vector.entries();
    int distinct = findUsed(entries, count);
    if (renamed.length <= entries) {
      renamed = new int[entries + 1];
    }
    for (int i = 0; i < distinct; i++) {
      renamed[used[i]] = i;
    }
    renamed[entries] = distinct;
    int width = LittleEndian.widthOf(distinct);
    width(header, width);
    int at = claim(Integer.BYTES);
    LittleEndian.putInt(bytes, at, distinct);
    writeValues(vector, used, distinct);
    at = claim((long) count * width);
    for (int i = 0; i < count; i++) {
      LittleEndian.put(bytes, at + i * width, width, renamed[codes[i]]);
    }
    return distinct > 0;
  }

  /** Puts the distinct codes of the selected rows, except that of null, into {@code used} and returns their number. */
  private int findUsed(int entries, int count) {
    int distinct = 0;
    if (used.length < count) {
      used = new int[count];
    }
    if (count < entries / 8) {
      // Sorting a few codes is cheaper than a pass over all entries.
      System.arraycopy(codes, 0, used, 0, count);
      Arrays.sort(used, 0, count);
      for (int i = 0; i < count; i++) {
        if (used[i] != entries && (distinct == 0 || used[i] != used[distinct - 1])) {
          used[distinct++] = used[i];
        }
      }
      return distinct;
    }
    if (seen.length <= entries) {
      seen = new boolean[entries + 1];
    }
    for (int i = 0; i < count; i++) {
      seen[codes[i]] = true;
    }
    for (int code = 0; code < entries; code++) {
      if (seen[code]) {
        used[distinct++] = code;
        seen[code] = false;
      }
    }
    seen[entries] = false;
    return distinct;
  }

  private boolean writePlain(int header, Vector vector, int[] rows, int count) {
    int valid = writeBitmap(header, vector, rows, count);
    writeValues(vector, rows, count);
    return valid > 0;
  }

  /** Appends the lengths of some values of a vector, ascending, and then the values. */
  private void writeValues(Vector vector, int[] some, int count) {
    if (froms.length < count) {
      froms = new int[count];
      tos = new int[count];
    }
    byte[] from = vector.spans(some, count, froms, tos);
    long length = 0;
    for (int i = 0; i < count; i++) {
      length += tos[i] - froms[i];
    }
    int at = claim((long) count * Integer.BYTES + length);
    int to = at + count * Integer.BYTES;
    for (int i = 0; i < count; i++) {
      int bytesOfValue = tos[i] - froms[i];
      LittleEndian.putInt(bytes, at + i * Integer.BYTES, bytesOfValue);
      System.arraycopy(from, froms[i], bytes, to, bytesOfValue);
      to += bytesOfValue;
    }
  }

  private boolean writeNumbers(int header, Vector vector, int[] rows, int count) {
    bytes[header + 5] = (byte) vector.valueBytes();
    if (numbers.length < count) {
      numbers = new long[count];
    }
    vector.numbers(rows, count, numbers);
    int valid = writeBitmap(header, vector, rows, count);
    long min = -1;
    long max = 0;
    for (int i = 0; i < count; i++) {
      if (valid == count || vector.isValid(rows[i])) {
        long number = numbers[i];
        min = Long.compareUnsigned(number, min) < 0 ? number : min;
        max = Long.compareUnsigned(number, max) > 0 ? number : max;
      }
    }
    long base = valid == 0 ? 0 : min;
    int width = valid == 0 ? 1 : LittleEndian.widthOf(max - min);
    width(header, width);
    int at = claim(Long.BYTES + (long) count * width);
    LittleEndian.putLong(bytes, at, base);
    at += Long.BYTES;
    for (int i = 0; i < count; i++) {
      boolean isNull = valid < count && !vector.isValid(rows[i]);
      LittleEndian.put(bytes, at + i * width, width, isNull ? 0 : numbers[i] - base);
    }
    return valid > 0;
  }

  private boolean writeList(int header, Vector vector, int[] rows, int count) {
    Vector inner = vector.elements();
    int valid = writeBitmap(header, vector, rows, count);
    int longest = 0;
    long total = 0;
    for (int i = 0; i < count; i++) {
      int length = vector.start(rows[i] + 1) - vector.start(rows[i]);
      longest = Math.max(longest, length);
      total += length;
    }
    int width = LittleEndian.widthOf(longest);
    width(header, width);
    int at = claim((long) count * width);
    if (elements.length < total) {
      elements = new int[(int) total];
    }
    int n = 0;
    for (int i = 0; i < count; i++) {
      int start = vector.start(rows[i]);
      int end = vector.start(rows[i] + 1);
      LittleEndian.put(bytes, at + i * width, width, end - start);
      while (start < end) {
        elements[n++] = start++;
      }
    }
    write(inner, elements, n);
    return valid > 0;
  }
}

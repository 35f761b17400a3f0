package watchfloor.block;

import java.util.Arrays;
import org.apache.accumulo.core.data.ArrayByteSequence;
import org.apache.accumulo.core.data.ByteSequence;
import watchfloor.block.vector.Vector;
import watchfloor.iterators.AnswerKeys;
import watchfloor.iterators.BigEndian;

/**
 * Reads the values of answers of {@link BlockIterator}. A list is passed on in the encoding of a cell: each element
 * with its length before it, 4 bytes big-endian, -1 for null.
 */
public final class BlockAnswer {
  /**
   * Takes values that are not null. {@code place} is the index of the field in the requested columns. {@code event} is
   * the index of the event in the answer.
   */
  public interface Cells {
    void bytes(int place, int event, byte[] bytes, int offset, int length);

    /**
     * Takes a value that is stored as a number: its encoded bytes, as many as {@code bytes}, read as a big-endian
     * unsigned number.
     */
    void number(int place, int event, long number, int bytes);

    /**
     * Takes the values of all events. That of event i is the value {@code which[i]}; null if this is {@code count}, the
     * number of values. Value i is the part [starts[i], starts[i + 1]) of the bytes.
     */
    default void values(int place, int events, int[] which, int count, byte[] bytes, int[] starts) {
      for (int i = 0; i < events; i++) {
        if (which[i] != count) {
          bytes(place, i, bytes, starts[which[i]], starts[which[i] + 1] - starts[which[i]]);
        }
      }
    }

    /** Takes the numbers of all events, as {@link #values} takes values; each has so many encoded bytes. */
    default void numbers(int place, int events, int[] which, int count, long[] numbers, int bytes) {
      for (int i = 0; i < events; i++) {
        if (which[i] != count) {
          number(place, i, numbers[which[i]], bytes);
        }
      }
    }
  }

  private static final int NULL_ELEMENT = -1;

  private final Vector[] vectors;
  private final Cells cells;
  private final byte[] number = new byte[Long.BYTES];
  private byte[] list = new byte[256];
  private int[] valid = new int[0];
  private byte[] next;

  public BlockAnswer(String[] columns, Cells cells) {
    vectors = Arrays.stream(columns).map(name -> new Vector("field " + name)).toArray(Vector[]::new);
    this.cells = cells;
  }

  /**
   * Passes on an answer's values, field by field, and returns its number of events; 0 if it lacks the first column.
   *
   * @throws IllegalStateException if a vector is damaged or the vectors differ in their rows
   */
  public int read(byte[] answer) {
    int events = -1;
    next = null;
    for (int at = 0; at < answer.length; ) {
      int place = BigEndian.getUnsignedShort(answer, at);
      int from = at + AnswerKeys.FIELD_HEADER;
      at = from + BigEndian.getInt(answer, at + Short.BYTES);
      if (place == AnswerKeys.NEXT) {
        next = Arrays.copyOfRange(answer, from, at);
        continue;
      }
      if (events < 0 && place != 0) {
        return 0;
      }
      Vector vector = vectors[place].wrap(answer, from, at);
      if (events >= 0 && vector.rows() != events) {
        throw new IllegalStateException("vectors of one block have " + events + " and " + vector.rows() + " rows");
      }
      events = vector.rows();
      hand(place, vector);
    }
    return Math.max(events, 0);
  }

  /** Returns an answer's number of events, by its first vector; 0 if it has none. */
  public static int countEvents(byte[] answer) {
    if (answer.length == 0 || BigEndian.getUnsignedShort(answer, 0) == AnswerKeys.NEXT) {
      return 0;
    }
    int to = AnswerKeys.FIELD_HEADER + BigEndian.getInt(answer, Short.BYTES);
    return new Vector("the first field").wrap(answer, AnswerKeys.FIELD_HEADER, to).rows();
  }

  /** Returns a row before which no row comes after an answer; null if the answer does not tell. */
  static byte[] findNext(byte[] answer) {
    for (int at = 0; at < answer.length; ) {
      int from = at + AnswerKeys.FIELD_HEADER;
      int to = from + BigEndian.getInt(answer, at + Short.BYTES);
      if (BigEndian.getUnsignedShort(answer, at) == AnswerKeys.NEXT) {
        return Arrays.copyOfRange(answer, from, to);
      }
      at = to;
    }
    return null;
  }

  /** Returns whether an answer was given in place of the block with a row, which was not read. */
  static boolean isPostponed(ByteSequence row, byte[] answer) {
    return answer.length == AnswerKeys.FIELD_HEADER + row.length()
        && BigEndian.getUnsignedShort(answer, 0) == AnswerKeys.NEXT
        && row.equals(new ArrayByteSequence(answer, AnswerKeys.FIELD_HEADER, row.length()));
  }

  /** Returns a row before which no row comes after the answer that was read last; null if the answer does not tell. */
  public byte[] next() {
    return next;
  }

  /** Passes on the values of a field, leaving out those that are null. */
  private void hand(int place, Vector vector) {
    int rows = vector.rows();
    switch (vector.form()) {
      case Vector.DICTIONARY:
        cells.values(place, rows, vector.codes(), vector.entries(), vector.bytes(), vector.starts());
        break;
      case Vector.PLAIN:
        cells.values(place, rows, findValid(vector), rows, vector.bytes(), vector.starts());
        break;
      case Vector.NUMBERS:
        cells.numbers(place, rows, findValid(vector), rows, vector.numbers(), vector.valueBytes());
        break;
      default:
        handLists(place, vector);
    }
  }

  /** Returns for each row its own index, or the number of rows where it is null. */
  private int[] findValid(Vector vector) {
    int rows = vector.rows();
    if (valid.length < rows) {
      valid = new int[rows];
    }
    vector.readNulls();
    for (int i = 0; i < rows; i++) {
      valid[i] = vector.isValid(i) ? i : rows;
    }
    return valid;
  }

  private void handLists(int place, Vector vector) {
    Vector elements = vector.elements();
    // Decodes all elements first, as the methods below read the decoded payload.
    elements.check();
    for (int i = 0; i < vector.rows(); i++) {
      if (vector.isValid(i)) {
        int size = 0;
        for (int element = vector.start(i); element < vector.start(i + 1); element++) {
          size = append(elements, element, size);
        }
        cells.bytes(place, i, list, 0, size);
      }
    }
  }

  /** Appends an element of a list at a position of {@link #list}, and returns the end. */
  private int append(Vector elements, int element, int at) {
    switch (elements.form()) {
      case Vector.DICTIONARY:
        int code = elements.codes()[element];
        return code == elements.entries()
            ? appendNull(at)
            : append(elements.bytes(), elements.start(code), elements.start(code + 1), at);
      case Vector.PLAIN:
        return elements.isValid(element)
            ? append(elements.bytes(), elements.start(element), elements.start(element + 1), at)
            : appendNull(at);
      default:
        if (!elements.isValid(element)) {
          return appendNull(at);
        }
        BigEndian.putLong(number, 0, elements.numbers()[element]);
        return append(number, Long.BYTES - elements.valueBytes(), Long.BYTES, at);
    }
  }

  private int append(byte[] bytes, int from, int to, int at) {
    int end = at + Integer.BYTES + to - from;
    room(end);
    BigEndian.putInt(list, at, to - from);
    System.arraycopy(bytes, from, list, at + Integer.BYTES, to - from);
    return end;
  }

  private int appendNull(int at) {
    room(at + Integer.BYTES);
    BigEndian.putInt(list, at, NULL_ELEMENT);
    return at + Integer.BYTES;
  }

  private void room(int size) {
    if (list.length < size) {
      list = Arrays.copyOf(list, Math.max(size, list.length * 2));
    }
  }
}

package watchfloor.json;

import java.util.Arrays;

/**
 * Reads lines of JSON objects (RFC 8259) into the columns of fields. A line is taken only if it is valid, all its values
 * fit their fields, and no name occurs twice. Any other line is odd, and the values that were read of it are ignored.
 *
 * <p>Each value is read by its field's reader in place, without an intermediate form. As lines of a log are alike, the
 * key that followed the present one last time is tried first (as Mison does, Li et al. 2017).
 */
public final class LineReader {
  /** The byte after each line, the last one too. No JSON value that this reader takes continues with it. */
  public static final byte END = '\n';

  /** Number of bytes, of any value, that must follow the last {@link #END}, as strings are read eight bytes at a time. */
  public static final int SPARE = TextMatcher.BYTES;

  static final byte[] NULL = {'n', 'u', 'l', 'l'};

  private final ValueReader[] columns;
  private final FieldNames.Level names;
  private long line;

  /**
   * Makes a reader.
   *
   * @param types of the columns, as in {@link ValueReader#of}
   * @param names of fields as lines may spell them
   * @param fields the column of each name; negative if its value, a string, is skipped
   * @param power see {@link ValueReader#of}
   */
  public LineReader(String[] types, ValueSink[] columns, String[] names, int[] fields, int power) {
    this.columns = new ValueReader[types.length];
    for (int i = 0; i < types.length; i++) {
      this.columns[i] = ValueReader.of(types[i], power, columns[i]);
    }
    ValueReader[] values = new ValueReader[names.length];
    Arrays.setAll(values, i -> fields[i] < 0 ? passedOver() : this.columns[fields[i]]);
    this.names = FieldNames.of(names, values);
  }

  /** Starts again with row 0. */
  public void begin() {
    for (ValueReader column : columns) {
      column.begin();
    }
  }

  /** Reads the line that begins at a position as a row. Returns false if it is odd. */
  public boolean read(byte[] data, int start, int row) {
    line++;
    int at = blanks(data, start);
    at = data[at] == '{' ? object(data, at, row, names) : ValueReader.ODD;
    return at != ValueReader.ODD && data[blanks(data, at)] == END;
  }

  /** Reads an object. Returns the position after it, or {@link ValueReader#ODD}. */
  private int object(byte[] data, int start, int row, FieldNames.Level level) {
    int at = blanks(data, start + 1);
    boolean more = data[at] != '}';
    FieldNames.Key key = level.start;
    while (more) {
      if (data[at] != '"') {
        return ValueReader.ODD;
      }
      key = level.find(data, at + 1, key);
      if (key == null || key.name.line == line) {
        return ValueReader.ODD;
      }
      key.name.line = line;
      at = blanks(data, at + key.length() + 2);
      if (data[at] != ':') {
        return ValueReader.ODD;
      }
      at = blanks(data, at + 1);
      if (isNull(data, at)) {
        at += NULL.length;
      } else if (key.name.level == null) {
        at = key.name.value.read(data, at, row);
      } else {
        at = data[at] == '{' ? object(data, at, row, key.name.level) : ValueReader.ODD;
      }
      if (at == ValueReader.ODD) {
        return ValueReader.ODD;
      }
      at = blanks(data, at);
      more = data[at] == ',';
      if (more) {
        at = blanks(data, at + 1);
      }
    }
    return data[at] == '}' ? at + 1 : ValueReader.ODD;
  }

  /** Returns the first position from {@code start} on that is not blank, which is mostly {@code start} itself. */
  static int blanks(byte[] data, int start) {
    return data[start] > ' ' ? start : afterBlanks(data, start);
  }

  private static int afterBlanks(byte[] data, int start) {
    int at = start;
    while (data[at] == ' ' || data[at] == '\t' || data[at] == '\r') {
      at++;
    }
    return at;
  }

  static boolean isNull(byte[] data, int at) {
    return data[at] == 'n' && data[at + 1] == 'u' && data[at + 2] == 'l' && data[at + 3] == 'l';
  }

  /** Returns a reader that skips strings. */
  private static ValueReader passedOver() {
    return new ValueReader() {
      @Override
      int read(byte[] data, int at, int row) {
        int end = data[at] == '"' ? TextReader.end(data, at + 1) : at;
        return end > at && data[end] == '"' ? end + 1 : ODD;
      }
    };
  }
}

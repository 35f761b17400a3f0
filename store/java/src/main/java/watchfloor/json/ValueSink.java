package watchfloor.json;

/** Where the values of a column go, row by row in order; rows passed over are null. A column is told what it holds. */
public interface ValueSink {
  /** UTF-8. */
  void text(int row, byte[] data, int offset, int length);

  /** A whole number, the bits of a double, microseconds since 1970, or 0 or 1. */
  void number(int row, long bits);

  /** A list of the elements from one to another, which is not in it. */
  void list(int row, int first, int end);

  /** The column that takes the elements of a column of lists, one a row. */
  ValueSink elements();
}

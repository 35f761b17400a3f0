package watchfloor.json;

/** Takes the values of a column row by row, in order. Rows that are passed over are null. */
public interface ValueSink {
  /** Takes a text in UTF-8. */
  void text(int row, byte[] data, int offset, int length);

  /** Takes a whole number, the bits of a double, microseconds since 1970, or a truth value as 0 or 1. */
  void number(int row, long bits);

  /** Takes a list of the elements [first, end). */
  void list(int row, int first, int end);

  /** Returns the column that takes the elements of a column of lists, one per row. */
  ValueSink elements();
}

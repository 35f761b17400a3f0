package watchfloor.iterators.expression;

import java.io.IOException;

/** The values of fields that expressions read: those of a block's events, or of a single event. */
public interface FieldValues {
  /** Reads a field's values in the first {@code count} rows; of a list, all elements. */
  void read(FieldValue field, int[] rows, int count, Column into) throws IOException;

  /** Reads the number of elements of a field's lists. */
  void readLengths(int slot, int[] rows, int count, LengthSink into) throws IOException;

  /** Takes the lengths of lists; rows without a list are left out. */
  interface LengthSink {
    void set(int row, int length);
  }
}

package watchfloor.iterators.expression;

import java.io.IOException;

/** The value of a field. */
public final class FieldValue extends Expression {
  /** The number by which the layout knows the field. */
  public final int slot;

  public final boolean isList;

  FieldValue(int slot, boolean isList, Column.Stored stored) {
    super(new Column(stored));
    this.slot = slot;
    this.isList = isList;
  }

  @Override
  Column evaluate(FieldValues values, int[] rows, int count) throws IOException {
    values.read(this, rows, count, out);
    return out;
  }
}

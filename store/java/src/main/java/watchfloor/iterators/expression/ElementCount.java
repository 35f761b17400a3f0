package watchfloor.iterators.expression;

import java.io.IOException;

/** The number of elements of a list. */
final class ElementCount extends Expression {
  private final int slot;

  ElementCount(int slot) {
    super(new Column(Column.Type.LONG));
    this.slot = slot;
  }

  @Override
  Column evaluate(FieldValues values, int[] rows, int count) throws IOException {
    out.begin(count);
    out.setAllMissing();
    values.readLengths(
        slot,
        rows,
        count,
        (row, length) -> {
          out.valid[row] = true;
          out.longs[row] = length;
        });
    return out;
  }
}

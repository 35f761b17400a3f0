package watchfloor.iterators.expression;

import java.util.Arrays;

/** A number. */
final class Constant extends Expression {
  private final long whole;
  private final double real;

  Constant(long value) {
    super(new Column(Column.Type.LONG));
    whole = value;
    real = 0;
  }

  Constant(double value) {
    super(new Column(Column.Type.DOUBLE));
    whole = 0;
    real = value;
  }

  @Override
  Column evaluate(FieldValues values, int[] rows, int count) {
    out.begin(count);
    Arrays.fill(out.beginCoded(1), 0, count, 0);
    out.valid[0] = true;
    if (out.type == Column.Type.LONG) {
      out.longs[0] = whole;
    } else {
      out.doubles[0] = real;
    }
    return out;
  }
}

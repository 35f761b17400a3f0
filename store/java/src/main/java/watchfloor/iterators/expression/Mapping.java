package watchfloor.iterators.expression;

import java.io.IOException;

/** A function of one value. It is computed once for each position, so once for each entry of a dictionary. */
final class Mapping extends Expression {
  /** Sets the value at a position from the one that another column has there; the first value is there. */
  interface Function {
    void apply(Column in, int position, Column out);
  }

  private final Expression operand;
  private final Function function;

  Mapping(Expression operand, Column.Type type, Function function) {
    super(new Column(type));
    this.operand = operand;
    this.function = function;
  }

  @Override
  Column evaluate(FieldValues values, int[] rows, int count) throws IOException {
    Column in = operand.evaluate(values, rows, count);
    out.beginLike(in);
    for (int i = 0; i < in.positions; i++) {
      out.valid[i] = in.valid[i];
      if (in.valid[i]) {
        function.apply(in, i, out);
      }
    }
    return out;
  }

  @Override
  void release() {
    super.release();
    operand.release();
  }
}

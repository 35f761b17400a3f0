package watchfloor.iterators.expression;

import java.io.IOException;

/** Two numbers of one type, joined by an operator. There is no result where a long overflows or a double is NaN. */
final class Arithmetic extends Expression {
  enum Operator {
    ADD,
    SUBTRACT,
    MULTIPLY,
    DIVIDE
  }

  private final Operator operator;
  private final Expression left;
  private final Expression right;

  Arithmetic(Operator operator, Expression left, Expression right) {
    super(new Column(left.type()));
    this.operator = operator;
    this.left = left;
    this.right = right;
  }

  @Override
  void release() {
    super.release();
    left.release();
    right.release();
  }

  @Override
  Column evaluate(FieldValues values, int[] rows, int count) throws IOException {
    Column one = left.evaluate(values, rows, count);
    Column two = right.evaluate(values, rows, count);
    if (isOneValue(two)) {
      out.beginLike(one);
      compute(one, null, two, new int[one.positions]);
    } else if (isOneValue(one)) {
      out.beginLike(two);
      compute(one, new int[two.positions], two, null);
    } else {
      int[] owners = one.owners != null ? one.owners : two.owners;
      int many = one.owners != null ? one.count : two.count;
      out.beginOwned(many, owners);
      compute(one, one.positionsBeside(owners, many), two, two.positionsBeside(owners, many));
    }
    return out;
  }

  /** Returns whether all rows have the same value. */
  private static boolean isOneValue(Column column) {
    return column.positions == 1 && column.owners == null;
  }

  /** Computes the results from the values at some positions of two columns; null stands for 0, 1, …. */
  private void compute(Column one, int[] ones, Column two, int[] twos) {
    boolean isLong = out.type == Column.Type.LONG;
    for (int i = 0; i < out.positions; i++) {
      int a = ones == null ? i : ones[i];
      int b = twos == null ? i : twos[i];
      out.valid[i] = one.valid[a] && two.valid[b];
      if (out.valid[i]) {
        if (isLong) {
          computeLong(one.longs[a], two.longs[b], i);
        } else {
          computeDouble(one.doubles[a], two.doubles[b], i);
        }
      }
    }
  }

  private void computeLong(long a, long b, int position) {
    long result;
    boolean overflows;
    switch (operator) {
      case ADD:
        result = a + b;
        overflows = ((a ^ result) & (b ^ result)) < 0;
        break;
      case SUBTRACT:
        result = a - b;
        overflows = ((a ^ b) & (a ^ result)) < 0;
        break;
      default:
        result = a * b;
        overflows = Math.multiplyHigh(a, b) != result >> 63;
    }
    out.longs[position] = result;
    out.valid[position] = !overflows;
  }

  private void computeDouble(double a, double b, int position) {
    double result;
    switch (operator) {
      case ADD:
        result = a + b;
        break;
      case SUBTRACT:
        result = a - b;
        break;
      case MULTIPLY:
        result = a * b;
        break;
      default:
        result = b == 0 ? Double.NaN : a / b;
    }
    out.doubles[position] = result;
    out.valid[position] = !Double.isNaN(result);
  }
}

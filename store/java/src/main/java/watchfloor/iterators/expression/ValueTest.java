package watchfloor.iterators.expression;

import java.io.IOException;
import java.util.function.BooleanSupplier;

/** A test of an expression's values. It holds of a row if it holds of any of its values. */
public final class ValueTest {
  /** A test of one value. */
  public interface Test {
    /** Returns whether the text in [from, to) satisfies the test. */
    boolean test(byte[] bytes, int from, int to);

    /** Returns whether a number satisfies the test, given as an unsigned number of the order of the encoding. */
    boolean test(long number);
  }

  private final Expression expression;
  private final Test test;
  private final BooleanSupplier isThrifty;
  private boolean[] results = new boolean[0];

  /** Makes a test; if {@code isThrifty} says so, it keeps no buffers between two blocks. */
  public ValueTest(Expression expression, Test test, BooleanSupplier isThrifty) {
    this.expression = expression;
    this.test = test;
    this.isThrifty = isThrifty;
  }

  /** Keeps those of the first {@code count} rows, ascending, of which it holds, and returns their number. */
  public int select(FieldValues values, int[] rows, int count) throws IOException {
    Column column = expression.evaluate(values, rows, count);
    if (results.length < column.positions) {
      results = new boolean[column.positions];
    }
    boolean isText = column.type == Column.Type.BYTES;
    for (int i = 0; i < column.positions; i++) {
      results[i] =
          column.valid[i]
              && (isText ? test.test(column.bytes, column.from[i], column.to[i]) : test.test(column.ordered(i)));
    }
    int kept = 0;
    int last = -1;
    for (int i = 0; i < column.count; i++) {
      int row = column.owners == null ? i : column.owners[i];
      if (row != last && results[column.at(i)]) {
        rows[kept++] = rows[row];
        last = row;
      }
    }
    if (isThrifty.getAsBoolean()) {
      expression.release();
      results = new boolean[0];
    }
    return kept;
  }
}

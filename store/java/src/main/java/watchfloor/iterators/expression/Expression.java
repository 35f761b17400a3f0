package watchfloor.iterators.expression;

import java.io.IOException;

/** Computes values from those of fields. It has buffers of its own, so that one thread may use it at a time. */
public abstract class Expression {
  final Column out;

  Expression(Column out) {
    this.out = out;
  }

  final Column.Type type() {
    return out.type;
  }

  /** Gives up the buffers of this expression and of those in it. */
  void release() {
    out.release();
  }

  /** Returns the values in the first {@code count} rows. They change with the next call. */
  abstract Column evaluate(FieldValues values, int[] rows, int count) throws IOException;
}

package watchfloor.iterators.filter;

import java.io.IOException;
import watchfloor.iterators.expression.FieldValues;

/** A condition on expressions. It has buffers of its own, so that one thread may use it at a time. */
public interface Computed {
  /** Keeps those of the first {@code count} rows, ascending, that satisfy the condition, and returns their number. */
  int select(FieldValues values, int[] rows, int count) throws IOException;
}

package watchfloor.iterators.expression;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.HashSet;
import java.util.Set;
import java.util.function.BooleanSupplier;

/**
 * A comparison of two expressions. It holds of a row if it holds of any of its values, or of any pair of values if both
 * sides have lists.
 */
public final class Comparison {
  /** The operators; the byte in a program is the ordinal. */
  public enum Operator {
    EQUAL,
    LESS,
    LESS_OR_EQUAL,
    GREATER,
    GREATER_OR_EQUAL
  }

  /** Up to this number of pairs, each is compared. */
  private static final int FEW = 64;

  private final Expression left;
  private final Operator operator;
  private final Expression right;
  private final BooleanSupplier isThrifty;

  /**
   * Makes a comparison; if {@code isThrifty} says so, it keeps no buffers between two blocks.
   *
   * @throws IllegalArgumentException if the sides are of different types
   */
  public Comparison(Expression left, Operator operator, Expression right, BooleanSupplier isThrifty) {
    if (left.type() != right.type()) {
      throw new IllegalArgumentException("filter program: " + left.type() + " is compared with " + right.type());
    }
    this.left = left;
    this.operator = operator;
    this.right = right;
    this.isThrifty = isThrifty;
  }

  /** Keeps those of the first {@code count} rows, ascending, of which it holds, and returns their number. */
  public int select(FieldValues values, int[] rows, int count) throws IOException {
    int kept = selectRows(values, rows, count);
    if (isThrifty.getAsBoolean()) {
      left.release();
      right.release();
    }
    return kept;
  }

  private int selectRows(FieldValues values, int[] rows, int count) throws IOException {
    Column one = left.evaluate(values, rows, count);
    Column two = right.evaluate(values, rows, count);
    if (one.owners != null && two.owners != null) {
      return selectPairs(one, two, rows);
    }
    int[] owners = one.owners != null ? one.owners : two.owners;
    int many = one.owners != null ? one.count : two.count;
    int[] ones = one.positionsBeside(owners, many);
    int[] twos = two.positionsBeside(owners, many);
    int kept = 0;
    int last = -1;
    for (int i = 0; i < many; i++) {
      int row = owners == null ? i : owners[i];
      if (row != last && holds(one, ones == null ? i : ones[i], two, twos == null ? i : twos[i])) {
        rows[kept++] = rows[row];
        last = row;
      }
    }
    return kept;
  }

  private boolean holds(Column one, int a, Column two, int b) {
    if (!one.valid[a] || !two.valid[b]) {
      return false;
    }
    int order = one.compare(a, two, b);
    switch (operator) {
      case EQUAL:
        return order == 0;
      case LESS:
        return order < 0;
      case LESS_OR_EQUAL:
        return order <= 0;
      case GREATER:
        return order > 0;
      default:
        return order >= 0;
    }
  }

  /** Selects rows by the lists on both sides. */
  private int selectPairs(Column one, Column two, int[] rows) {
    int kept = 0;
    int b = 0;
    for (int a = 0; a < one.count; ) {
      int row = one.owners[a];
      int end = endOfRow(one, a, row);
      while (b < two.count && two.owners[b] < row) {
        b++;
      }
      int otherEnd = endOfRow(two, b, row);
      if (anyHolds(one, a, end, two, b, otherEnd)) {
        rows[kept++] = rows[row];
      }
      a = end;
      b = otherEnd;
    }
    return kept;
  }

  private static int endOfRow(Column column, int from, int row) {
    int end = from;
    while (end < column.count && column.owners[end] == row) {
      end++;
    }
    return end;
  }

  /** Returns whether the comparison holds of a pair of some values. The time is linear in their number. */
  private boolean anyHolds(Column one, int a, int end, Column two, int b, int otherEnd) {
    if ((long) (end - a) * (otherEnd - b) <= FEW) {
      for (int i = a; i < end; i++) {
        for (int j = b; j < otherEnd; j++) {
          if (holds(one, one.at(i), two, two.at(j))) {
            return true;
          }
        }
      }
      return false;
    }
    if (operator != Operator.EQUAL) {
      boolean isLess = operator == Operator.LESS || operator == Operator.LESS_OR_EQUAL;
      int first = extreme(one, a, end, isLess ? -1 : 1);
      int second = extreme(two, b, otherEnd, isLess ? 1 : -1);
      return first >= 0 && second >= 0 && holds(one, first, two, second);
    }
    Set<Object> known = new HashSet<>();
    for (int i = a; i < end; i++) {
      if (one.valid[one.at(i)]) {
        known.add(key(one, one.at(i)));
      }
    }
    for (int j = b; j < otherEnd; j++) {
      if (two.valid[two.at(j)] && known.contains(key(two, two.at(j)))) {
        return true;
      }
    }
    return false;
  }

  /** Returns the position of the least (sign -1) or the greatest (sign 1) of some values; -1 if there is none. */
  private static int extreme(Column column, int from, int to, int sign) {
    int found = -1;
    for (int i = from; i < to; i++) {
      int at = column.at(i);
      if (column.valid[at] && (found < 0 || column.compare(at, column, found) * (long) sign > 0)) {
        found = at;
      }
    }
    return found;
  }

  private static Object key(Column column, int position) {
    if (column.type == Column.Type.BYTES) {
      int from = column.from[position];
      return ByteBuffer.wrap(column.bytes, from, column.to[position] - from);
    }
    return column.ordered(position);
  }
}

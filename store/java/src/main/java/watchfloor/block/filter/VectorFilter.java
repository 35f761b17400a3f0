package watchfloor.block.filter;

import java.util.Arrays;
import watchfloor.block.vector.Vector;
import watchfloor.iterators.filter.Condition;
import watchfloor.iterators.filter.RequiredLiteral;
import watchfloor.iterators.filter.Verdict;

/** A condition on one field of a block. It narrows a selection of rows by the field's vector. */
public final class VectorFilter {
  private static final byte UNKNOWN = 0;
  private static final byte YES = 1;
  private static final byte NO = 2;
  /** All values are searched at once if the selected rows are at least this fraction (1 / SPARSE) of them. */
  private static final int SPARSE = 4;

  private final Condition condition;
  /**
   * A text that all values contain which satisfy the pattern; null if none is known or the condition is not a pattern.
   */
  private final LiteralSearch literal;
  /** True if all values that contain the text satisfy the pattern. */
  private final boolean isLiteral;
  private final NumberFilter numbers;

  // Buffers that are used again for every block.
  private byte[] verdicts = new byte[0];
  private int[] elements = new int[0];

  public VectorFilter(Condition condition) {
    this.condition = condition;
    RequiredLiteral required = condition instanceof Condition.Match ? ((Condition.Match) condition).literal() : null;
    literal = required == null ? null : new LiteralSearch(required.bytes());
    isLiteral = required != null && required.isWhole();
    numbers = new NumberFilter(condition);
  }

  /** Keeps those of the first {@code count} rows, ascending, that satisfy the condition, and returns their number. */
  public int select(Vector vector, int[] rows, int count) {
    Verdict verdict = vector.bounds() == null ? Verdict.SOME : condition.within(vector.bounds());
    if (verdict == Verdict.NONE) {
      return 0;
    }
    if (vector.form() == Vector.LIST) {
      return selectLists(vector, rows, count);
    }
    if (verdict == Verdict.ALL) {
      return keepValid(vector, rows, count);
    }
    switch (vector.form()) {
      case Vector.DICTIONARY:
        return selectCodes(vector, rows, count);
      case Vector.NUMBERS:
        return numbers.select(vector, rows, count);
      default:
        return selectPlain(vector, rows, count);
    }
  }

  /** Keeps those of the first {@code count} rows that are not null, and returns their number. */
  public static int keepValid(Vector vector, int[] rows, int count) {
    int kept = 0;
    if (vector.form() == Vector.DICTIONARY) {
      int[] codes = vector.codes();
      int none = vector.entries();
      for (int i = 0; i < count; i++) {
        int row = rows[i];
        rows[kept] = row;
        kept += codes[row] != none ? 1 : 0;
      }
      return kept;
    }
    if (!vector.hasBitmap()) {
      return count;
    }
    vector.readNulls();
    for (int i = 0; i < count; i++) {
      int row = rows[i];
      rows[kept] = row;
      kept += vector.isValid(row) ? 1 : 0;
    }
    return kept;
  }

  /** Selects among the elements of the selected lists. Keeps a list if one of its elements is selected. */
  private int selectLists(Vector vector, int[] rows, int count) {
    Vector inner = vector.elements();
    if (elements.length < inner.rows()) {
      elements = new int[inner.rows()];
    }
    int asked = 0;
    for (int i = 0; i < count; i++) {
      for (int element = vector.start(rows[i]); element < vector.start(rows[i] + 1); element++) {
        elements[asked++] = element;
      }
    }
    int found = select(inner, elements, asked);
    int kept = 0;
    int next = 0;
    for (int i = 0; i < count && next < found; i++) {
      int end = vector.start(rows[i] + 1);
      if (elements[next] < end) {
        rows[kept++] = rows[i];
        while (next < found && elements[next] < end) {
          next++;
        }
      }
    }
    return kept;
  }

  private int selectCodes(Vector vector, int[] rows, int count) {
    int entries = vector.entries();
    if (condition instanceof Condition.Equal) {
      int code = vector.entry(((Condition.Equal) condition).value);
      return code < 0 ? 0 : selectCodes(vector.codes(), code, 1, rows, count);
    }
    if (condition instanceof Condition.Interval) {
      Condition.Interval interval = (Condition.Interval) condition;
      int first = vector.firstEntry(interval::notBelow);
      int end = vector.firstEntry((bytes, from, to) -> !interval.notAbove(bytes, from, to));
      return first >= end ? 0 : selectCodes(vector.codes(), first, end - first, rows, count);
    }
    makeRoom(entries + 1);
    if (condition instanceof Condition.Member && ((Condition.Member) condition).values.length < entries / 4) {
      Arrays.fill(verdicts, 0, entries + 1, NO);
      boolean any = false;
      for (byte[] value : ((Condition.Member) condition).values) {
        int code = vector.entry(value);
        if (code >= 0) {
          verdicts[code] = YES;
          any = true;
        }
      }
      if (!any) {
        return 0;
      }
    } else if (isSearched(count, entries)) {
      if (!search(vector, entries)) {
        return 0;
      }
      verdicts[entries] = NO;
    } else {
      Arrays.fill(verdicts, 0, entries, UNKNOWN);
      verdicts[entries] = NO;
    }
    return selectByVerdicts(vector, rows, count);
  }

  private void makeRoom(int count) {
    if (verdicts.length < count) {
      verdicts = new byte[count];
    }
  }

  /** Returns whether the pattern's literal is searched in all values at once. */
  private boolean isSearched(int count, int values) {
    return literal != null && count >= values / SPARSE;
  }

  /**
   * Gives each value a verdict, as far as the pattern's literal tells. Returns false if no value can satisfy the
   * condition.
   */
  private boolean search(Vector vector, int values) {
    return literal.mark(vector, values, verdicts, isLiteral ? YES : UNKNOWN, NO);
  }

  private static int selectCodes(int[] codes, int first, int many, int[] rows, int count) {
    int kept = 0;
    // Adding Integer.MIN_VALUE makes the signed comparison below order the numbers as unsigned ones.
    int shift = Integer.MIN_VALUE - first;
    int limit = Integer.MIN_VALUE + many;
    for (int i = 0; i < count; i++) {
      int row = rows[i];
      rows[kept] = row;
      kept += codes[row] + shift < limit ? 1 : 0;
    }
    return kept;
  }

  /**
   * Keeps the rows whose entry has the verdict YES. An unknown entry is tested at its first row, as other conditions
   * may have removed all rows of many entries.
   */
  private int selectByVerdicts(Vector vector, int[] rows, int count) {
    int[] codes = vector.codes();
    byte[] bytes = vector.bytes();
    int kept = 0;
    for (int i = 0; i < count; i++) {
      int row = rows[i];
      int code = codes[row];
      byte verdict = verdicts[code];
      if (verdict == UNKNOWN) {
        verdict = condition.test(bytes, vector.start(code), vector.start(code + 1)) ? YES : NO;
        verdicts[code] = verdict;
      }
      rows[kept] = row;
      kept += verdict == YES ? 1 : 0;
    }
    return kept;
  }

  private int selectPlain(Vector vector, int[] rows, int count) {
    int valid = keepValid(vector, rows, count);
    byte[] bytes = vector.bytes();
    boolean searched = isSearched(valid, vector.rows());
    if (searched) {
      makeRoom(vector.rows());
      if (!search(vector, vector.rows())) {
        return 0;
      }
    }
    int kept = 0;
    for (int i = 0; i < valid; i++) {
      int row = rows[i];
      byte verdict = searched ? verdicts[row] : UNKNOWN;
      rows[kept] = row;
      kept += verdict == YES || verdict == UNKNOWN && condition.test(bytes, vector.start(row), vector.start(row + 1))
          ? 1 : 0;
    }
    return kept;
  }
}

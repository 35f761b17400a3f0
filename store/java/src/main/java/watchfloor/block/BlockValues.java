package watchfloor.block;

import java.io.IOException;
import watchfloor.block.vector.Vector;
import watchfloor.iterators.expression.Column;
import watchfloor.iterators.expression.FieldValue;
import watchfloor.iterators.expression.FieldValues;

/** The values of the fields of a block's events, for expressions. */
final class BlockValues implements FieldValues {
  /** All entries of a dictionary are handed over if the rows are at least this fraction (1 / SPARSE) of them. */
  private static final int SPARSE = 2;

  private final Block block;
  private int[] elements = new int[0];

  BlockValues(Block block) {
    this.block = block;
  }

  @Override
  public void read(FieldValue field, int[] rows, int count, Column into) throws IOException {
    Vector vector = block.vector(field.slot);
    if (vector != null && vector.form() == Vector.LIST) {
      readElements(vector, rows, count, into);
      return;
    }
    into.begin(count);
    if (vector == null) {
      into.setAllMissing();
    } else {
      readValues(vector, rows, count, into);
    }
  }

  private void readElements(Vector lists, int[] rows, int count, Column into) {
    Vector inner = lists.elements();
    int total = 0;
    for (int i = 0; i < count; i++) {
      total += lists.start(rows[i] + 1) - lists.start(rows[i]);
    }
    if (elements.length < total) {
      elements = new int[total];
    }
    int[] owners = into.beginElements(total);
    int next = 0;
    for (int i = 0; i < count; i++) {
      for (int element = lists.start(rows[i]); element < lists.start(rows[i] + 1); element++) {
        owners[next] = i;
        elements[next++] = element;
      }
    }
    readValues(inner, elements, total, into);
  }

  /** Reads the values of some rows, for which the column has begun. */
  private static void readValues(Vector vector, int[] rows, int count, Column into) {
    switch (vector.form()) {
      case Vector.DICTIONARY:
        readDictionary(vector, rows, count, into);
        break;
      case Vector.NUMBERS:
        long[] numbers = vector.numbers();
        for (int i = 0; i < count; i++) {
          if (vector.isValid(rows[i])) {
            into.set(i, numbers[rows[i]]);
          } else {
            into.setMissing(i);
          }
        }
        break;
      default:
        byte[] bytes = vector.bytes();
        for (int i = 0; i < count; i++) {
          if (vector.isValid(rows[i])) {
            into.set(i, bytes, vector.start(rows[i]), vector.start(rows[i] + 1));
          } else {
            into.setMissing(i);
          }
        }
    }
  }

  private static void readDictionary(Vector vector, int[] rows, int count, Column into) {
    int entries = vector.entries();
    int[] codes = vector.codes();
    byte[] bytes = vector.bytes();
    if (count < entries / SPARSE) {
      for (int i = 0; i < count; i++) {
        int code = codes[rows[i]];
        if (code == entries) {
          into.setMissing(i);
        } else {
          into.set(i, bytes, vector.start(code), vector.start(code + 1));
        }
      }
      return;
    }
    int[] positions = into.beginCoded(entries + 1);
    for (int i = 0; i < count; i++) {
      positions[i] = codes[rows[i]];
    }
    for (int code = 0; code < entries; code++) {
      into.set(code, bytes, vector.start(code), vector.start(code + 1));
    }
    into.setMissing(entries);
  }

  @Override
  public void readLengths(int slot, int[] rows, int count, LengthSink into) throws IOException {
    Vector vector = block.vector(slot);
    if (vector == null) {
      return;
    }
    vector.bytes();
    for (int i = 0; i < count; i++) {
      if (vector.isValid(rows[i])) {
        into.set(i, vector.start(rows[i] + 1) - vector.start(rows[i]));
      }
    }
  }
}

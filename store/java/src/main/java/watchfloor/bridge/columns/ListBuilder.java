package watchfloor.bridge.columns;

import java.util.Arrays;
import java.util.List;
import org.apache.arrow.memory.ArrowBuf;
import org.apache.arrow.memory.BufferAllocator;
import org.apache.arrow.vector.FieldVector;
import org.apache.arrow.vector.complex.ListVector;
import watchfloor.json.ValueSink;

/** Builds a column of lists, whose elements come as plain values and not encoded. */
final class ListBuilder extends ColumnBuilder {
  private final ColumnBuilder elements;
  /** The index of the first element of row i; known up to the end of the last row that was set. */
  private int[] starts = new int[256];

  ListBuilder(String name, String type) {
    super(name);
    elements = ColumnBuilder.of("item", type);
  }

  @Override
  public ValueSink elements() {
    return elements;
  }

  @Override
  public void list(int row, int first, int end) {
    reach(row, first);
    mark(row);
    starts[row + 1] = end;
  }

  /** Gives the null rows before this row no elements: they end at its first element. */
  private void reach(int row, int first) {
    if (row + 2 > starts.length) {
      starts = Arrays.copyOf(starts, Math.max(starts.length * 2, row + 2));
    }
    if (rows() < row) {
      Arrays.fill(starts, rows() + 1, row + 1, first);
    } else {
      starts[row] = first;
    }
  }

  @Override
  public void set(int row, byte[] bytes, int offset, int length) {
    throw new IllegalStateException("a list of field " + name + " is not encoded");
  }

  @Override
  public void set(int row, long number, int bytes) {
    throw new IllegalStateException("a value of field " + name + " is a list");
  }

  @Override
  public long bytes() {
    return (long) rows() * Integer.BYTES + elements.bytes();
  }

  @Override
  public FieldVector take(int count, BufferAllocator allocator) {
    if (rows() < count) {
      reach(count, starts[rows()]);
    }
    ListVector vector = ListVector.empty(name, allocator);
    try (ArrowBuf offsets = offsets(starts, count, allocator);
        // The last elements may be null, or belong to a list that was not taken.
        FieldVector values = elements.take(Math.max(starts[count], elements.rows()), allocator)) {
      vector.initializeChildrenFromFields(List.of(values.getField()));
      values.makeTransferPair(vector.getDataVector()).transfer();
      return loaded(vector, count, allocator, offsets);
    } catch (RuntimeException e) {
      vector.close();
      throw e;
    }
  }
}

package watchfloor.block.vector;

import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.apache.accumulo.core.data.ByteSequence;

/** The slots of the fields that a scan may need, by their names, and their order in a row. */
public final class FieldSlots {
  private final List<byte[]> names = new ArrayList<>();
  private final List<String> fields = new ArrayList<>();
  private int[] sorted;

  /** Returns the slot of a field, a new one if it has none yet. May be called before {@link #freeze} only. */
  public int add(String field) {
    int found = fields.indexOf(field);
    if (found >= 0) {
      return found;
    }
    names.add(field.getBytes(StandardCharsets.UTF_8));
    fields.add(field);
    return names.size() - 1;
  }

  /** Ends the allocation of slots. */
  public void freeze() {
    Integer[] order = new Integer[size()];
    Arrays.setAll(order, i -> i);
    Arrays.sort(order, (a, b) -> Arrays.compareUnsigned(names.get(a), names.get(b)));
    sorted = Arrays.stream(order).mapToInt(i -> i).toArray();
  }

  public int size() {
    return fields.size();
  }

  public String field(int slot) {
    return fields.get(slot);
  }

  /** Returns the bytes of a field's name, the qualifier of its cells. */
  public byte[] name(int slot) {
    return names.get(slot);
  }

  /** Returns the slots in the order of their cells. */
  public int[] inOrder() {
    return sorted;
  }

  /** Returns the slot of a cell's field, by the cell's qualifier; -1 if it has none. */
  public int find(ByteSequence qualifier) {
    int low = 0;
    int high = sorted.length - 1;
    while (low <= high) {
      int middle = (low + high) >>> 1;
      int order = compare(qualifier, names.get(sorted[middle]));
      if (order == 0) {
        return sorted[middle];
      }
      if (order < 0) {
        high = middle - 1;
      } else {
        low = middle + 1;
      }
    }
    return -1;
  }

  /** Compares a cell's qualifier with the name of a field, in the order of cells. */
  public static int compare(ByteSequence qualifier, byte[] name) {
    int from = qualifier.offset();
    return Arrays.compareUnsigned(
        qualifier.getBackingArray(), from, from + qualifier.length(), name, 0, name.length);
  }
}

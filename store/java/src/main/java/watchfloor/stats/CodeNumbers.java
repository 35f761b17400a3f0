package watchfloor.stats;

import java.util.Arrays;

/**
 * Gives the values of a column's codes numbers that hold until {@link #clear}. Blocks that follow each other share most
 * of their values. So the dictionary of a block is walked beside that of the block before it, as both ascend, and only
 * values that the block before it lacks are looked up.
 */
public final class CodeNumbers {
  /** Writes the value of a code. Equal values of a dictionary always give equal bytes. */
  public interface Values {
    void write(int code, StatsWriter out);
  }

  private static final int UNKNOWN = -1;
  /** If fewer events than this fraction (1 / SPARSE) of the codes are at hand, their values are looked up. */
  private static final int SPARSE = 2;

  private final Values source;
  private final BytesDictionary values = new BytesDictionary();
  private final StatsWriter scratch = new StatsWriter();
  /** By code: the number of its value. */
  private int[] numbers = new int[0];

  // The last dictionary, without values if there is none; its numbers are those of the codes before begin().
  private int[] lastNumbers = new int[0];
  private byte[] lastBytes = new byte[0];
  private int[] lastStarts = new int[1];
  private int lastSize;

  public CodeNumbers(Values source) {
    this.source = source;
  }

  /**
   * Begins with other codes.
   *
   * @param column that gave them; null if they are no codes of a column
   * @param codes a number greater than all of them
   * @param events that have them
   */
  public void begin(StatsColumn column, int codes, int events) {
    int[] before = numbers;
    numbers = lastNumbers.length < codes ? new int[codes] : lastNumbers;
    lastNumbers = before;
    byte[] bytes = column == null || events < codes / SPARSE ? null : column.dictionary();
    if (bytes == null) {
      Arrays.fill(numbers, 0, codes, UNKNOWN);
      lastSize = 0;
    } else {
      recall(column, bytes, codes);
      keep(column, bytes, codes);
    }
  }

  /** Takes the numbers of those values that the last dictionary has. */
  private void recall(StatsColumn column, byte[] bytes, int codes) {
    int last = 0;
    for (int code = 0; code < codes; code++) {
      int from = column.start(code);
      int to = column.start(code + 1);
      int order = -1;
      while (last < lastSize) {
        order = Arrays.compareUnsigned(lastBytes, lastStarts[last], lastStarts[last + 1], bytes, from, to);
        if (order >= 0) {
          break;
        }
        last++;
      }
      numbers[code] = last < lastSize && order == 0 ? lastNumbers[last++] : UNKNOWN;
    }
  }

  private void keep(StatsColumn column, byte[] bytes, int codes) {
    int first = column.start(0);
    int length = column.start(codes) - first;
    if (lastBytes.length < length) {
      lastBytes = new byte[length];
    }
    if (lastStarts.length <= codes) {
      lastStarts = new int[codes + 1];
    }
    System.arraycopy(bytes, first, lastBytes, 0, length);
    for (int code = 0; code <= codes; code++) {
      lastStarts[code] = column.start(code) - first;
    }
    lastSize = codes;
  }

  /** Returns the number of a code's value. */
  public int number(int code) {
    int known = numbers[code];
    return known != UNKNOWN ? known : (numbers[code] = add(code));
  }

  private int add(int code) {
    scratch.clear();
    source.write(code, scratch);
    return values.add(scratch.bytes(), 0, scratch.size());
  }

  /** Returns the values by their numbers. */
  public BytesDictionary values() {
    return values;
  }

  public long bytes() {
    return values.bytes();
  }

  /** Forgets all values. The codes at hand have no numbers any more. */
  public void clear() {
    values.clear();
    lastSize = 0;
  }
}

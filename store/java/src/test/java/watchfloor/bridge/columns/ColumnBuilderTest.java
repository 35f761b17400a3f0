package watchfloor.bridge.columns;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Random;
import org.apache.arrow.vector.FieldVector;
import org.apache.arrow.vector.compare.VectorEqualsVisitor;
import org.junit.jupiter.api.Test;

/** Rows that are set many at a time are the same as those that are set one by one. */
class ColumnBuilderTest {
  private static final Map<String, Integer> BYTES =
      Map.of("string", 0, "ip", 0, "bytes", 0, "int", 8, "time", 8, "float", 8, "port", 2, "bool", 1);

  private final Random random = new Random(1);

  private static void assertSame(ColumnBuilder expected, ColumnBuilder found, int rows, String type) {
    assertEquals(expected.bytes(), found.bytes(), type);
    try (FieldVector one = expected.take(rows, ArrowMemory.ALLOCATOR);
        FieldVector other = found.take(rows, ArrowMemory.ALLOCATOR)) {
      assertEquals(rows, other.getValueCount(), type);
      assertEquals(one.getNullCount(), other.getNullCount(), type);
      assertTrue(VectorEqualsVisitor.vectorEquals(one, other), type);
    }
  }

  /** Returns random values of a length; of random lengths if it is 0. */
  private byte[][] values(int count, int length) {
    byte[][] values = new byte[count][];
    for (int i = 0; i < count; i++) {
      values[i] = new byte[length == 0 ? random.nextInt(40) : length];
      random.nextBytes(values[i]);
      for (int j = 0; j < values[i].length && length < 2; j++) {
        values[i][j] &= length == 1 ? 1 : 0x7F;
      }
    }
    return values;
  }

  /** Returns which value each row has; no row has one if there are none. */
  private int[] which(int rows, int count) {
    int[] which = new int[rows];
    Arrays.setAll(which, i -> random.nextInt(3) == 0 ? count : random.nextInt(count + 1));
    return which;
  }

  @Test
  void manyRowsAreThoseThatAreSetOneByOne() {
    for (int round = 0; round < 300; round++) {
      for (Map.Entry<String, Integer> type : BYTES.entrySet()) {
        ColumnBuilder many = ColumnBuilder.of("many", type.getKey());
        ColumnBuilder single = ColumnBuilder.of("many", type.getKey());
        int first = 0;
        for (int part = 0; part < 3; part++) {
          byte[][] values = values(random.nextInt(30), type.getValue());
          int[] starts = new int[values.length + 1];
          byte[] all = new byte[Arrays.stream(values).mapToInt(value -> value.length).sum()];
          for (int i = 0; i < values.length; i++) {
            System.arraycopy(values[i], 0, all, starts[i], values[i].length);
            starts[i + 1] = starts[i] + values[i].length;
          }
          int[] which = which(random.nextInt(random.nextBoolean() ? 20 : 2000), values.length);
          many.setValues(first, which.length, which, values.length, all, starts);
          for (int i = 0; i < which.length; i++) {
            if (which[i] < values.length) {
              single.set(first + i, values[which[i]], 0, values[which[i]].length);
            }
          }
          first += which.length;
        }
        assertSame(single, many, first, type.getKey());
      }
    }
  }

  @Test
  void manyNumbersAreThoseThatAreSetOneByOne() {
    for (String type : List.of("int", "time", "float", "port", "bool")) {
      int bytes = BYTES.get(type);
      long mask = bytes == 8 ? -1 : bytes == 1 ? 1 : 0xFFFF;
      long[] numbers = random.longs(50).map(number -> number & mask).toArray();
      int[] which = which(1000, numbers.length);
      ColumnBuilder many = ColumnBuilder.of("many", type);
      ColumnBuilder single = ColumnBuilder.of("many", type);
      many.setNumbers(0, which.length, which, numbers.length, numbers, bytes);
      for (int i = 0; i < which.length; i++) {
        if (which[i] < numbers.length) {
          single.set(i, numbers[which[i]], bytes);
        }
      }
      assertSame(single, many, which.length, type);
    }
  }

  @Test
  void numbersOfAnotherLengthAreRefused() {
    ColumnBuilder port = ColumnBuilder.of("port", "port");
    int[] starts = {0, 8};
    assertThrows(
        IllegalStateException.class, () -> port.setValues(0, 1, new int[] {0}, 1, new byte[8], starts));
    assertThrows(IllegalStateException.class, () -> port.setNumbers(0, 1, new int[] {0}, 1, new long[1], 8));
  }
}

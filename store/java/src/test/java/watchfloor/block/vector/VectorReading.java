package watchfloor.block.vector;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static watchfloor.iterators.Programs.text;

import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.stream.IntStream;
import watchfloor.iterators.BigEndian;

/** Draws values, and compares what is read of vectors of them with the values. */
abstract class VectorReading {
  final Random random = new Random(7);
  /** One for all, as its buffers are used again. */
  final Vector vector = new Vector("field");
  final VectorWriter writer = new VectorWriter();

  List<byte[]> strings(int rows, int distinct, boolean nulls) {
    List<byte[]> out = new ArrayList<>();
    for (int i = 0; i < rows; i++) {
      int value = random.nextInt(distinct);
      out.add(nulls && random.nextInt(4) == 0 ? null : text(value == 0 ? "" : "v" + value));
    }
    return out;
  }

  List<byte[]> draw(int rows, int valueBytes, long base, long range, boolean nulls) {
    List<byte[]> out = new ArrayList<>();
    for (int i = 0; i < rows; i++) {
      long value = base + (range == 0 ? random.nextLong() : (long) (random.nextDouble() * range));
      byte[] bytes = Arrays.copyOfRange(ByteBuffer.allocate(8).putLong(value).array(), 8 - valueBytes, 8);
      out.add(nulls && random.nextInt(4) == 0 ? null : bytes);
    }
    return out;
  }

  static <T> List<T> pick(List<T> values, int[] rows) {
    List<T> out = new ArrayList<>();
    for (int row : rows) {
      out.add(values.get(row));
    }
    return out;
  }

  int[] someRows(int rows) {
    int one = 1 + random.nextInt(20);
    return IntStream.range(0, rows).filter(i -> random.nextInt(one) == 0).toArray();
  }

  /** The vector in an answer with these rows; null if it was left out. */
  Vector subset(Vector of, int[] rows) {
    writer.clear();
    writer.put(3, of, rows, rows.length);
    byte[] answer = writer.toByteArray();
    if (answer.length == 0) {
      return null;
    }
    assertEquals(3, BigEndian.getUnsignedShort(answer, 0));
    assertEquals(answer.length - 6, BigEndian.getInt(answer, 2));
    return new Vector("subset").wrap(Arrays.copyOfRange(answer, 6, answer.length));
  }

  void assertReads(List<byte[]> values, byte[] stored) {
    assertEquals(Vectors.show(values), Vectors.show(Vectors.values(vector.wrap(stored))));
    for (int i = 0; i < 2; i++) {
      int[] rows = someRows(values.size());
      List<byte[]> picked = pick(values, rows);
      // Once of a vector that has been read as a whole, and once of one that has not.
      Vector subset = subset(i == 0 ? vector : vector.wrap(stored), rows);
      if (subset == null) {
        assertTrue(picked.stream().allMatch(value -> value == null));
      } else {
        assertEquals(Vectors.show(picked), Vectors.show(Vectors.values(subset)));
      }
    }
  }

  void assertReadsLists(List<List<byte[]>> lists, byte[] stored) {
    assertEquals(Vectors.showLists(lists), Vectors.showLists(Vectors.lists(vector.wrap(stored))));
    int[] rows = someRows(lists.size());
    Vector subset = subset(random.nextBoolean() ? vector : vector.wrap(stored), rows);
    List<List<byte[]>> picked = pick(lists, rows);
    if (subset == null) {
      assertTrue(picked.stream().allMatch(list -> list == null));
    } else {
      assertEquals(Vectors.showLists(picked), Vectors.showLists(Vectors.lists(subset)));
    }
  }
}

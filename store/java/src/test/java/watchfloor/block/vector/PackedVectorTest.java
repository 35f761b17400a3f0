package watchfloor.block.vector;

import static org.junit.jupiter.api.Assertions.assertTrue;
import static watchfloor.iterators.Programs.number;
import static watchfloor.iterators.Programs.text;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import org.junit.jupiter.api.Test;
import watchfloor.iterators.Tables;

/** Vectors of which any row is read alone. */
class PackedVectorTest extends VectorReading {
  @Test
  void packedDictionariesAndPlainVectors() {
    for (boolean symbols : new boolean[] {false, true}) {
      for (boolean nulls : new boolean[] {false, true}) {
        for (int distinct : new int[] {1, 3, 255, 2000}) {
          for (int rows : new int[] {1, 7, 33, 1500}) {
            List<byte[]> values = strings(rows, distinct, nulls);
            assertReads(values, PackedVectors.plain(symbols, distinct % 4, values));
            assertReads(values, PackedVectors.dictionary(symbols, distinct % 5, values));
          }
        }
      }
    }
  }

  @Test
  void packedNumbers() {
    for (int rows : new int[] {1, 9, 127, 128, 129, 2000}) {
      for (boolean nulls : new boolean[] {false, true}) {
        assertReadsPacked(1, draw(rows, 1, 0, 256, nulls), nulls);
        assertReadsPacked(2, draw(rows, 2, 400, 200, nulls), nulls);
        assertReadsPacked(8, draw(rows, 8, (1L << 63) - 100, 255, nulls), nulls);
        assertReadsPacked(8, draw(rows, 8, Tables.NOW, 1L << 40, nulls), nulls);
        assertReadsPacked(8, draw(rows, 8, 0, 0, nulls), nulls);
        assertReadsPacked(8, new ArrayList<>(Collections.nCopies(rows, number(-3))), false);
      }
    }
  }

  private void assertReadsPacked(int valueBytes, List<byte[]> values, boolean nulls) {
    assertReads(values, PackedVectors.numbers(valueBytes, random.nextInt(3), values));
    if (!nulls) {
      assertReads(values, PackedVectors.differences(valueBytes, random.nextInt(3), values));
    }
  }

  @Test
  void packedLists() {
    for (int rows : new int[] {1, 10, 500}) {
      List<List<byte[]>> texts = new ArrayList<>();
      for (int i = 0; i < rows; i++) {
        texts.add(random.nextInt(4) == 0 ? null : strings(random.nextInt(5), 9, true));
      }
      List<byte[]> inner = Vectors.elements(texts);
      assertReadsLists(texts, PackedVectors.list(0, texts, PackedVectors.dictionary(true, 1, inner)));
      assertReadsLists(texts, PackedVectors.list(3, texts, Vectors.plain(Codec.NONE, inner)));
    }
  }

  /** Strings that have much in common take less, any of them is read alone, and so does any byte. */
  @Test
  void symbols() {
    List<byte[]> values = new ArrayList<>();
    for (int i = 0; i < 3000; i++) {
      values.add(text("https://www.example.com/path/" + random.nextInt(400) + "/index.html"));
    }
    byte[] any = new byte[256];
    for (int i = 0; i < any.length; i++) {
      any[i] = (byte) i;
    }
    values.set(7, any);
    byte[] stored = PackedVectors.plain(true, 0, values);
    assertTrue(stored.length * 2 < PackedVectors.plain(false, 0, values).length);
    assertReads(values, stored);
  }
}

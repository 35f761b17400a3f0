package watchfloor.block;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static watchfloor.iterators.Programs.number;
import static watchfloor.iterators.Programs.text;

import java.io.ByteArrayOutputStream;
import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.junit.jupiter.api.Test;
import watchfloor.block.vector.Codec;
import watchfloor.block.vector.Vectors;
import watchfloor.iterators.AnswerKeys;

class BlockAnswerTest {
  private static final String[] COLUMNS = {"time", "words", "lists"};
  private static final byte[] TIMES =
      Vectors.numbers(Codec.ZSTD, Vectors.BASE, 8, 1, List.of(number(3), number(2), number(1)));

  /** What was handed over: by place and event the bytes in hexadecimal. */
  private final Map<String, String> found = new TreeMap<>();
  private final BlockAnswer answer =
      new BlockAnswer(
          COLUMNS,
          new BlockAnswer.Cells() {
            @Override
            public void bytes(int place, int event, byte[] bytes, int offset, int length) {
              found.put(place + "." + event, hex(Arrays.copyOfRange(bytes, offset, offset + length)));
            }

            @Override
            public void number(int place, int event, long number, int bytes) {
              found.put(place + "." + event, bytes + " bytes: " + (number ^ Long.MIN_VALUE));
            }
          });

  private static String hex(byte[] bytes) {
    StringBuilder out = new StringBuilder();
    for (byte b : bytes) {
      out.append(String.format("%02x", b));
    }
    return out.toString();
  }

  private static byte[] answer(Map<Integer, byte[]> vectors) {
    ByteArrayOutputStream out = new ByteArrayOutputStream();
    new TreeMap<>(vectors)
        .forEach(
            (place, vector) -> {
              out.writeBytes(ByteBuffer.allocate(6).putShort(place.shortValue()).putInt(vector.length).array());
              out.writeBytes(vector);
            });
    return out.toByteArray();
  }

  @Test
  void handsOverWhatIsNotNull() {
    List<List<byte[]>> lists = Arrays.asList(Arrays.asList(text("a"), null, text("bc")), null, List.of());
    byte[] inner = Vectors.dictionary(Codec.NONE, 1, Vectors.elements(lists));
    byte[] words = Vectors.plain(Codec.LZ4, Arrays.asList(text("x"), null, text("")));
    int events = answer.read(answer(Map.of(0, TIMES, 1, words, 2, Vectors.list(Codec.ZSTD, 1, lists, inner))));
    assertEquals(3, events);
    Map<String, String> expected =
        Map.of(
            "0.0", "8 bytes: 3",
            "0.1", "8 bytes: 2",
            "0.2", "8 bytes: 1",
            "1.0", "78",
            "1.2", "",
            "2.0", "00000001" + "61" + "ffffffff" + "00000002" + "6263",
            "2.2", "");
    assertEquals(new TreeMap<>(expected), found);
  }

  @Test
  void listsOfNumbersAreEncodedAsNumbersAre() {
    List<List<byte[]>> lists = List.of(Arrays.asList(number(7), null), List.of(number(8)), List.of());
    byte[] inner = Vectors.numbers(Codec.NONE, Vectors.BASE, 8, 1, Vectors.elements(lists));
    assertEquals(3, answer.read(answer(Map.of(0, TIMES, 2, Vectors.list(Codec.NONE, 1, lists, inner)))));
    assertEquals("00000008" + hex(number(7)) + "ffffffff", found.get("2.0"));
    assertEquals("00000008" + hex(number(8)), found.get("2.1"));
  }

  @Test
  void theRowThatComesNextIsNoColumn() {
    byte[] row = text("0001 and more");
    assertEquals(3, answer.read(answer(Map.of(0, TIMES, AnswerKeys.NEXT, row))));
    assertEquals(3, found.size());
    assertArrayEquals(row, answer.next());
    assertEquals(3, answer.read(answer(Map.of(0, TIMES))));
    assertNull(answer.next());
  }

  @Test
  void whoMayNotSeeTheFirstColumnSeesNothing() {
    assertEquals(0, answer.read(answer(Map.of(1, Vectors.plain(Codec.NONE, List.of(text("x")))))));
    assertEquals(Map.of(), found);
  }

  @Test
  void damageIsSaid() {
    byte[] words = Vectors.plain(Codec.NONE, List.of(text("x"), text("y"), text("z")));
    words[words.length - 1] ^= 1;
    IllegalStateException damaged =
        assertThrows(IllegalStateException.class, () -> answer.read(answer(Map.of(0, TIMES, 1, words))));
    assertEquals("vector of field words: the checksum is wrong", damaged.getMessage());
    byte[] two = Vectors.plain(Codec.NONE, List.of(text("x"), text("y")));
    IllegalStateException uneven =
        assertThrows(IllegalStateException.class, () -> answer.read(answer(Map.of(0, TIMES, 1, two))));
    assertEquals("vectors of one block have 3 and 2 rows", uneven.getMessage());
  }
}

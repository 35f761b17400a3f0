package watchfloor.block.filter;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static watchfloor.iterators.Programs.text;

import com.google.re2j.Pattern;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import watchfloor.block.vector.Codec;
import watchfloor.block.vector.Vector;
import watchfloor.block.vector.Vectors;
import watchfloor.iterators.filter.Condition;

class LiteralSearchTest {
  private static final String[] LITERALS = {
    "a", "aa", "ab", "aab", "bab", "b\u00e9", "abababab", "c".repeat(300), "never"
  };
  private static final String[] PATTERNS = {
    "aab", "b.?aba", "(?s)\\A.*ab.*\\z", "ab[b\u00e9]+$", "\u00e9(a|b)", "never", "nev.r", "c{3}", "c", ""
  };

  private final Random random = new Random(5);

  /** Few letters, so that literals are often found, across the ends of values too; now and then a long value. */
  private String draw() {
    StringBuilder out = new StringBuilder();
    int length = random.nextInt(200) == 0 ? random.nextInt(40_000) : random.nextInt(12);
    String letters = random.nextInt(20) == 0 ? "c" : "aab\u00e9";
    for (int i = 0; i < length; i++) {
      out.append(letters.charAt(random.nextInt(letters.length())));
    }
    return out.toString();
  }

  private List<byte[]> values(int rows, boolean nulls) {
    List<byte[]> values = new ArrayList<>();
    for (int i = 0; i < rows; i++) {
      values.add(nulls && random.nextInt(5) == 0 ? null : text(draw()));
    }
    return values;
  }

  private static boolean contains(byte[] value, String literal) {
    return new String(value, StandardCharsets.UTF_8).contains(literal);
  }

  @Test
  void eachValueIsMarked() {
    Vector vector = new Vector("field");
    for (int rows : new int[] {0, 1, 3, 50, 2000}) {
      List<byte[]> values = values(rows, false);
      vector.wrap(Vectors.plain(Codec.ZSTD, values));
      vector.bytes();
      for (String literal : LITERALS) {
        LiteralSearch search = new LiteralSearch(text(literal));
        Condition match = new Condition.Match(Pattern.compile(literal));
        byte[] marks = new byte[rows + 1];
        Arrays.fill(marks, (byte) 9);
        boolean any = search.mark(vector, rows, marks, (byte) 1, (byte) 2);
        byte[] expected = new byte[rows + 1];
        expected[rows] = 9;
        boolean one = false;
        for (int i = 0; i < rows; i++) {
          byte[] value = values.get(i);
          expected[i] = (byte) (contains(value, literal) ? 1 : 2);
          one |= contains(value, literal);
          assertEquals(contains(value, literal), match.test(value, 0, value.length));
        }
        assertEquals(Arrays.toString(expected), Arrays.toString(marks), literal);
        assertEquals(one, any);
      }
    }
  }

  /** Wherever the end of a piece that is searched at once falls: the literal and what only looks like it. */
  @Test
  void aPieceMayEndWithinALiteral() {
    Vector vector = new Vector("field");
    LiteralSearch search = new LiteralSearch(text("needle"));
    for (int before = LiteralSearch.PIECE - 8; before < LiteralSearch.PIECE + 8; before++) {
      byte[] other = text("x".repeat(before) + "need");
      List<byte[]> values = List.of(other, text("le"), text("x".repeat(before) + "needle"), other, text("needle"));
      vector.wrap(Vectors.plain(Codec.NONE, values));
      byte[] marks = new byte[5];
      assertTrue(search.mark(vector, 5, marks, (byte) 1, (byte) 2));
      assertEquals("[2, 2, 1, 2, 1]", Arrays.toString(marks), "at " + before);
    }
  }

  /** However many rows are left, and in whichever form: what a pattern selects is what it is found in. */
  @Test
  void selectionsAreThoseOfThePattern() {
    Vector vector = new Vector("field");
    for (String drawn : PATTERNS) {
      Pattern pattern = Pattern.compile(drawn);
      VectorFilter filter = new VectorFilter(new Condition.Match(pattern));
      for (int rows : new int[] {1, 40, 1500}) {
        List<byte[]> values = values(rows, random.nextBoolean());
        for (byte[] stored : List.of(Vectors.plain(0, values), Vectors.dictionary(Codec.LZ4, 2, values))) {
          for (int one : new int[] {1, 2, 50}) {
            int[] selected = IntStream.range(0, rows).filter(i -> random.nextInt(one) == 0).toArray();
            int[] expected =
                Arrays.stream(selected)
                    .filter(i -> values.get(i) != null && pattern.matcher(values.get(i)).find())
                    .toArray();
            int count = filter.select(vector.wrap(stored), selected, selected.length);
            assertEquals(Arrays.toString(expected), Arrays.toString(Arrays.copyOf(selected, count)), drawn);
          }
        }
      }
    }
  }

  @Test
  void someAreFoundAndSomeAreNot() {
    List<byte[]> values = values(2000, false);
    for (String literal : LITERALS) {
      long hits = values.stream().filter(value -> contains(value, literal)).count();
      assertTrue(literal.equals("never") ? hits == 0 : hits > 0 && hits < 2000, literal + ": " + hits);
    }
  }
}

package watchfloor.iterators;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static watchfloor.iterators.Programs.base64;
import static watchfloor.iterators.Programs.count;
import static watchfloor.iterators.Programs.join;
import static watchfloor.iterators.Programs.text;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.HashMap;
import java.util.Map;
import java.util.Random;
import java.util.TreeMap;
import org.apache.accumulo.core.data.Key;
import org.apache.accumulo.core.data.Range;
import org.apache.accumulo.core.data.Value;
import org.junit.jupiter.api.Test;

class CountIteratorTest {
  private final TreeMap<Key, Value> table = new TreeMap<>();

  private void add(String row, String family, long bucket, long item, long count, String visibility) {
    byte[] qualifier = ByteBuffer.allocate(16).putLong(bucket).putLong(item).array();
    table.put(Tables.key(text(row), family, qualifier, visibility), new Value(count(count)));
  }

  private static byte[] span(String family, long low, long high) {
    return join(new byte[] {(byte) family.length()}, text(family), count(low), count(high));
  }

  private static Map<String, String> options(String mode, String by, byte[]... spans) {
    Map<String, String> options = new HashMap<>(Map.of(CountIterator.MODE, mode, CountIterator.BY, by));
    if (spans.length > 0) {
      options.put(CountIterator.RANGES, base64(join(spans)));
    }
    return options;
  }

  private CountIterator iterator(Map<String, String> options, String... authorizations) {
    CountIterator iterator = new CountIterator();
    iterator.init(Tables.visible(table, authorizations), options, Tables.ENVIRONMENT);
    return iterator;
  }

  /** Answers as "row family:bucket visibility" → sum; a torn scan must give the same. */
  private Map<String, Long> answers(Range range, Map<String, String> options, String... authorizations)
      throws IOException {
    CountIterator iterator = iterator(options, authorizations);
    TreeMap<Key, Value> whole = Tables.read(iterator, range);
    assertEquals(whole, Tables.readTorn(iterator, range), "torn");
    assertEquals(whole, Tables.read(iterator.deepCopy(Tables.ENVIRONMENT), range), "copy");
    Map<String, Long> out = new TreeMap<>();
    whole.forEach(
        (key, value) -> {
          byte[] qualifier = key.getColumnQualifierData().toArray();
          String bucket = qualifier.length == 0 ? "" : Long.toString(ByteBuffer.wrap(qualifier).getLong());
          String name = key.getRow() + " " + key.getColumnFamily() + ":" + bucket + " " + key.getColumnVisibility();
          out.put(name, ByteBuffer.wrap(value.get()).getLong());
        });
    return out;
  }

  @Test
  void oneAnswerARow() throws IOException {
    add("a", "d", 5, 1, 3, "");
    add("a", "d", 5, 2, 4, "");
    add("a", "h", 7, 1, 10, "");
    add("b", "d", 5, 1, 1, "");
    assertEquals(Map.of("a : ", 17L, "b : ", 1L), answers(new Range(), options("cells", "row")));
    assertEquals(Map.of("a : ", 3L, "b : ", 1L), answers(new Range(), options("entries", "row")));
    assertEquals(Map.of("b : ", 1L), answers(new Range("b"), options("cells", "row")));
  }

  @Test
  void oneAnswerABucket() throws IOException {
    add("a", "d", 5, 1, 3, "");
    add("a", "d", 5, 2, 4, "");
    add("a", "d", 6, 2, 5, "");
    add("a", "h", 5, 1, 10, "");
    add("a", "h", -1, 1, 2, "");
    add("b", "d", 5, 1, 1, "");
    assertEquals(
        Map.of("a d:5 ", 7L, "a d:6 ", 5L, "a h:5 ", 10L, "a h:-1 ", 2L, "b d:5 ", 1L),
        answers(new Range(), options("cells", "bucket")));
  }

  @Test
  void onlyCellsWithinTheRangesCount() throws IOException {
    for (long bucket = 0; bucket < 100; bucket++) {
      add("a", "d", bucket, 1, 1, "");
      add("a", "h", bucket, 1, 100, "");
      add("b", "h", bucket, 1, 100, "");
      add("c", "s", bucket, 1, 1, "");
    }
    Map<String, String> options = options("cells", "row", span("d", 10, 20), span("h", 90, 200));
    assertEquals(Map.of("a : ", 10L + 1000L, "b : ", 1000L), answers(new Range(), options));
    // Ranges that overlap or touch count once, and an empty one not at all.
    options = options("cells", "row", span("d", 15, 20), span("d", 10, 17), span("d", 20, 21), span("d", 50, 50));
    assertEquals(Map.of("a : ", 11L), answers(new Range(), options));
  }

  @Test
  void bucketsAreUnsigned() throws IOException {
    add("a", "d", Long.MAX_VALUE, 1, 1, "");
    add("a", "d", Long.MIN_VALUE, 1, 2, "");
    add("a", "d", -1, 1, 4, "");
    Map<String, String> options = options("cells", "row", span("d", Long.MAX_VALUE, -1));
    assertEquals(Map.of("a : ", 3L), answers(new Range(), options));
  }

  @Test
  void aSumOfZeroIsNoAnswer() throws IOException {
    add("a", "d", 5, 1, 0, "");
    add("b", "d", 5, 1, 2, "");
    assertEquals(Map.of("b : ", 2L), answers(new Range(), options("cells", "row")));
    assertEquals(Map.of(), answers(new Range(), options("cells", "row", span("m", 0, 99))));
  }

  @Test
  void allVisibleLabelsAreSummed() throws IOException {
    add("a", "d", 5, 1, 1, "");
    add("a", "d", 5, 2, 2, "blue");
    add("a", "d", 5, 3, 4, "red");
    add("b", "d", 5, 1, 8, "red");
    Map<String, String> options = options("cells", "row");
    assertEquals(Map.of("a : ", 1L), answers(new Range(), options));
    assertEquals(Map.of("a : ", 3L), answers(new Range(), options, "blue"));
    assertEquals(Map.of("a : ", 7L, "b : red", 8L), answers(new Range(), options, "blue", "red"));
  }

  @Test
  void aRangeWithinARowCountsWhatIsInIt() throws IOException {
    for (long key = 0; key < 50; key++) {
      add("0001host\0x", "", key, key, 0, "");
    }
    byte[] row = text("0001host\0x");
    Key start = new Key(row, new byte[0], count(10), new byte[0], Long.MAX_VALUE);
    Key end = new Key(row, new byte[0], count(30), new byte[0], Long.MAX_VALUE);
    Range range = new Range(start, true, end, false);
    CountIterator iterator = iterator(options("entries", "row"));
    TreeMap<Key, Value> found = Tables.read(iterator, range);
    assertEquals(1, found.size());
    assertEquals(20, ByteBuffer.wrap(found.firstEntry().getValue().get()).getLong());
    assertEquals(0, Tables.read(iterator, new Range(found.firstKey(), false, end, false)).size());
    assertEquals(20, answers(range, options("entries", "bucket")).size());
  }

  @Test
  void drawnTablesAndRanges() throws IOException {
    Random random = new Random(4);
    for (int round = 0; round < 200; round++) {
      table.clear();
      String[] families = {"d", "h", "m", "s"};
      for (int i = 0; i < 300; i++) {
        String label = random.nextBoolean() ? "" : "red";
        add("r" + random.nextInt(4), families[random.nextInt(4)], random.nextInt(40), random.nextInt(3), random.nextInt(3), label);
      }
      byte[][] spans = new byte[1 + random.nextInt(4)][];
      long[][] bounds = new long[spans.length][];
      String[] names = new String[spans.length];
      for (int i = 0; i < spans.length; i++) {
        names[i] = families[random.nextInt(4)];
        bounds[i] = new long[] {random.nextInt(40), random.nextInt(45)};
        spans[i] = span(names[i], bounds[i][0], bounds[i][1]);
      }
      Map<String, Long> byRow = new TreeMap<>();
      Map<String, Long> byBucket = new TreeMap<>();
      table.forEach(
          (key, value) -> {
            long bucket = ByteBuffer.wrap(key.getColumnQualifierData().toArray()).getLong();
            String family = key.getColumnFamily().toString();
            for (int i = 0; i < spans.length; i++) {
              if (family.equals(names[i]) && bucket >= bounds[i][0] && bucket < bounds[i][1]) {
                long n = ByteBuffer.wrap(value.get()).getLong();
                byRow.merge(key.getRow().toString(), n, Long::sum);
                byBucket.merge(key.getRow() + " " + family + ":" + bucket, n, Long::sum);
                break;
              }
            }
          });
      byRow.values().removeIf(n -> n == 0);
      byBucket.values().removeIf(n -> n == 0);
      assertEquals(byRow, unlabelled(answers(new Range(), options("cells", "row", spans), "red"), " :"));
      assertEquals(byBucket, unlabelled(answers(new Range(), options("cells", "bucket", spans), "red"), ""));
    }
  }

  private static Map<String, Long> unlabelled(Map<String, Long> answers, String suffix) {
    Map<String, Long> out = new TreeMap<>();
    answers.forEach(
        (name, sum) -> {
          String key = name.substring(0, name.lastIndexOf(' '));
          out.put(key.endsWith(suffix) ? key.substring(0, key.length() - suffix.length()) : key, sum);
        });
    return out;
  }

  @Test
  void badOptionsAndValuesAreErrors() {
    assertThrows(IllegalArgumentException.class, () -> iterator(options("sums", "row")));
    assertThrows(IllegalArgumentException.class, () -> iterator(options("cells", "hour")));
    table.put(Tables.key(text("a"), "d", count(1), ""), new Value(new byte[3]));
    assertThrows(
        IllegalStateException.class, () -> Tables.read(iterator(options("cells", "row")), new Range()));
  }
}

package watchfloor.iterators;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static watchfloor.iterators.Programs.count;
import static watchfloor.iterators.Programs.join;
import static watchfloor.iterators.Programs.text;
import static watchfloor.iterators.Programs.u32;

import java.io.IOException;
import java.util.Base64;
import java.util.HashMap;
import java.util.Map;
import java.util.Random;
import java.util.TreeMap;
import java.util.TreeSet;
import org.apache.accumulo.core.data.Key;
import org.apache.accumulo.core.data.Range;
import org.apache.accumulo.core.data.Value;
import org.junit.jupiter.api.Test;
import watchfloor.iterators.filter.ValueSets;

class IndexHitsIteratorTest {
  private static final int HEADER = 1 + Integer.BYTES;
  private static final int PLACE = Long.BYTES + Integer.BYTES;

  private final TreeMap<Key, Value> table = new TreeMap<>();
  private final Map<String, String> options = new HashMap<>();

  IndexHitsIteratorTest() {
    options.put(IndexHitsIterator.SKIP, "2");
    between(0, Long.MAX_VALUE);
  }

  private void between(long low, long high) {
    options.put(IndexHitsIterator.LOW, Base64.getEncoder().encodeToString(count(low)));
    options.put(IndexHitsIterator.HIGH, Base64.getEncoder().encodeToString(count(high)));
  }

  private void test(byte[] program) {
    options.put(IndexHitsIterator.TEST, Base64.getEncoder().encodeToString(program));
  }

  private void list(byte[] set) {
    options.put(ValueSets.PREFIX + ValueSets.digest(set), Programs.base64(set));
    test(join(Programs.named(set), Programs.listed(Programs.scalar("f"), 0)));
  }

  private void add(String value, long place, int hits) {
    table.put(Tables.key(text("f:" + value), "", count(place), ""), new Value(u32(hits)));
  }

  private IndexHitsIterator iterator() {
    IndexHitsIterator iterator = new IndexHitsIterator();
    iterator.init(Tables.visible(table), options, Tables.ENVIRONMENT);
    return iterator;
  }

  /** Hits by place, of a whole scan, a copy's, and one that is torn down after each answer. */
  private Map<Long, Integer> places() throws IOException {
    IndexHitsIterator iterator = iterator();
    TreeMap<Key, Value> whole = Tables.read(iterator, new Range());
    assertEquals(summed(whole), summed(Tables.readTorn(iterator, new Range())), "torn");
    assertEquals(summed(whole), summed(Tables.read(iterator.deepCopy(Tables.ENVIRONMENT), new Range())), "copy");
    return summed(whole);
  }

  private static Map<Long, Integer> summed(TreeMap<Key, Value> answers) {
    Map<Long, Integer> hits = new TreeMap<>();
    for (Value answer : answers.values()) {
      for (int at = HEADER; at < answer.getSize(); at += PLACE) {
        hits.merge(BigEndian.getLong(answer.get(), at), BigEndian.getInt(answer.get(), at + Long.BYTES), Integer::sum);
      }
    }
    return hits;
  }

  @Test
  void hitsOfAPlaceAreSummedOverValues() throws IOException {
    add("a", 1, 10);
    add("a", 2, 20);
    add("b", 1, 30);
    assertEquals(Map.of(1L, 40, 2L, 20), places());
  }

  @Test
  void anEntryMayHaveTheHitsOfSeveralPlaces() throws IOException {
    table.put(Tables.key(text("f:a"), "", count(1), ""), new Value(join(u32(10), count(2), u32(20), count(3), u32(5))));
    add("b", 2, 30);
    add("b", 3, 1);
    assertEquals(Map.of(1L, 10, 2L, 50, 3L, 6), places());
  }

  @Test
  void aPlaceWithoutHitsDoesNotCount() throws IOException {
    table.put(Tables.key(text("f:a"), "", count(1), ""), new Value(join(u32(0), count(2), u32(20))));
    assertEquals(Map.of(2L, 20), places());
  }

  @Test
  void anEmptyValueIsOneHit() throws IOException {
    table.put(Tables.key(text("f:a"), "", count(1), ""), new Value());
    table.put(Tables.key(text("f:b"), "", count(1), ""), new Value());
    assertEquals(Map.of(1L, 2), places());
  }

  @Test
  void randomTablesAsByBruteForce() throws IOException {
    Random random = new Random(11);
    Map<Long, Integer> expected = new TreeMap<>();
    for (int value = 0; value < 300; value++) {
      boolean wanted = value % 10 >= 3;
      for (int entry = random.nextInt(1 << random.nextInt(8)); entry > 0; entry--) {
        long place = random.nextInt(9_000);
        int hits = 1 + random.nextInt(9);
        Value old = table.get(Tables.key(text("f:" + value), "", count(place), ""));
        if (old == null) {
          add(String.valueOf(value), place, hits);
          if (wanted && place >= 2_000 && place < 8_000) {
            expected.merge(place, hits, Integer::sum);
          }
        }
      }
    }
    between(2_000, 8_000);
    test(Programs.regex(Programs.scalar("f"), "[3-9]$", false));
    assertTrue(expected.size() > 500, "too few to be of use");
    assertEquals(expected, places());
  }

  @Test
  void aListIsWalkedTogetherWithTheRows() throws IOException {
    Random random = new Random(5);
    for (int turn = 0; turn < 40; turn++) {
      table.clear();
      TreeSet<String> listed = new TreeSet<>();
      for (int i = random.nextInt(1 << random.nextInt(10)); i >= 0; i--) {
        listed.add(String.valueOf(random.nextInt(5_000)));
      }
      Map<Long, Integer> expected = new TreeMap<>();
      for (int i = 0; i < 1 << random.nextInt(12); i++) {
        String value = String.valueOf(random.nextInt(5_000));
        add(value, i, 1);
        boolean inRange = value.compareTo("30") >= 0 && value.compareTo("3100") <= 0;
        if (listed.contains(value) || inRange) {
          expected.put((long) i, 1);
        }
      }
      byte[][] values = listed.stream().map(Programs::text).toArray(byte[][]::new);
      list(Programs.set(values, new byte[][] {text("30")}, new byte[][] {text("3100")}));
      assertEquals(expected, places());
    }
  }

  @Test
  void aCutValueOfAListIsNotPassedOver() throws IOException {
    String whole = "b".repeat(30);
    add("a", 1, 1);
    add(whole.substring(0, 4) + "~hash-of-it-all.", 2, 1);
    for (int i = 0; i < 40; i++) {
      add("b" + (char) ('0' + i), 3, 1);
    }
    options.put(IndexHitsIterator.CUT, "20");
    byte[][] none = {};
    list(Programs.set(new byte[][] {text(whole)}, none, none));
    assertEquals(Map.of(2L, 1), places());
  }

  @Test
  void moreThanAnAnswerHolds() throws IOException {
    Map<Long, Integer> expected = new TreeMap<>();
    for (int place = 0; place < 10_000; place++) {
      add("a", place, 1);
      add("b", place, 2);
      expected.put((long) place, 3);
    }
    assertEquals(expected, places());
  }

  @Test
  void valuesThatAreWrittenBackwards() throws IOException {
    add("cba", 1, 1);
    add("abc", 2, 1);
    test(Programs.regex(Programs.scalar("f"), "^ab", false));
    assertEquals(Map.of(2L, 1), places());
    options.put(IndexHitsIterator.REVERSED, "true");
    assertEquals(Map.of(1L, 1), places());
  }

  @Test
  void aValueThatMayBeCutPasses() throws IOException {
    add("xxxx", 1, 1);
    add("xxx", 2, 1);
    test(Programs.regex(Programs.scalar("f"), "y", false));
    options.put(IndexHitsIterator.CUT, "4");
    assertEquals(Map.of(1L, 1), places());
  }

  @Test
  void itIsGivenUp() throws IOException {
    for (int place = 0; place < 100; place++) {
      add("a", place, 1);
    }
    options.put(IndexHitsIterator.MOST, "60");
    TreeMap<Key, Value> answers = Tables.read(iterator(), new Range());
    assertEquals(60, summed(answers).size());
    assertEquals(1, answers.lastEntry().getValue().get()[0]);
    assertEquals(60, BigEndian.getInt(answers.lastEntry().getValue().get(), 1));
    options.put(IndexHitsIterator.MOST, "100");
    answers = Tables.read(iterator(), new Range());
    assertEquals(0, answers.lastEntry().getValue().get()[0]);
  }

  @Test
  void whatNothingPassesIsReadAndGivenUpToo() throws IOException {
    for (int value = 0; value < 1000; value++) {
      add("v" + value, 1, 1);
    }
    test(Programs.regex(Programs.scalar("f"), "nothing", false));
    assertEquals(Map.of(), places());
    options.put(IndexHitsIterator.MOST, "50");
    TreeMap<Key, Value> answers = Tables.read(iterator(), new Range());
    assertEquals(1, answers.size());
    assertEquals(1, answers.firstEntry().getValue().get()[0]);
  }

  @Test
  void aTestIsOneCondition() {
    test(join(new byte[] {3}, Programs.regex(Programs.scalar("f"), "x", false)));
    assertThrows(IllegalArgumentException.class, this::iterator);
  }
}

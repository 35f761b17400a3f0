package watchfloor.iterators;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static watchfloor.iterators.Programs.count;
import static watchfloor.iterators.Programs.join;
import static watchfloor.iterators.Programs.text;

import java.io.IOException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.TreeMap;
import org.apache.accumulo.core.data.Key;
import org.apache.accumulo.core.data.Range;
import org.apache.accumulo.core.data.Value;
import org.junit.jupiter.api.Test;

class HitsIteratorTest {
  private static final int ENTRY = 2 * Long.BYTES;

  private final TreeMap<Key, Value> table = new TreeMap<>();

  private void add(String row, long block, long hits, String visibility) {
    table.put(Tables.key(text(row), "", count(block), visibility), new Value(count(hits)));
  }

  /** The entries that the answers are made of, by row; a scan that is torn down, and a copy, must give the same. */
  private Map<String, List<byte[]>> entries(Range range, String... authorizations) throws IOException {
    HitsIterator iterator = new HitsIterator();
    iterator.init(Tables.visible(table, authorizations), Map.of(), Tables.ENVIRONMENT);
    TreeMap<Key, Value> whole = Tables.read(iterator, range);
    assertEquals(whole, Tables.readTorn(iterator, range), "torn");
    assertEquals(whole, Tables.read(iterator.deepCopy(Tables.ENVIRONMENT), range), "copy");
    Map<String, List<byte[]>> found = new TreeMap<>();
    whole.forEach(
        (key, value) -> {
          List<byte[]> entries = found.computeIfAbsent(key.getRow().toString(), row -> new ArrayList<>());
          for (int at = 0; at < value.getSize(); at += ENTRY) {
            entries.add(Arrays.copyOfRange(value.get(), at, at + ENTRY));
          }
        });
    return found;
  }

  private static String shown(List<byte[]> entries) {
    StringBuilder out = new StringBuilder();
    entries.forEach(entry -> out.append(BigEndian.getLong(entry, 0)).append(':').append(BigEndian.getLong(entry, 8)).append(' '));
    return out.toString().trim();
  }

  @Test
  void aRowsEntriesAreOneAnswer() throws IOException {
    add("a", 1, 10, "");
    add("a", 2, 20, "");
    add("b", 1, 30, "");
    Map<String, List<byte[]>> found = entries(new Range());
    assertEquals("1:10 2:20", shown(found.get("a")));
    assertEquals("1:30", shown(found.get("b")));
    assertEquals(2, found.size());
  }

  @Test
  void anEntryOfSeveralBlocksGivesTheHitsOfEach() throws IOException {
    table.put(Tables.key(text("a"), "", count(1), ""), new Value(join(count(10), count(2), count(20), count(3), count(0))));
    add("a", 4, 40, "");
    assertEquals("1:10 2:20 3:0 4:40", shown(entries(new Range()).get("a")));
  }

  @Test
  void onlyWhatTheReaderMaySee() throws IOException {
    add("a", 1, 10, "low");
    add("a", 2, 20, "high");
    add("b", 1, 30, "high");
    assertEquals("1:10", shown(entries(new Range(), "low").get("a")));
    assertEquals(1, entries(new Range(), "low").size());
  }

  @Test
  void onlyWhatTheRangeHas() throws IOException {
    for (int block = 1; block < 5; block++) {
      add("a", block, block, "");
    }
    Key from = new Key(text("a"), new byte[0], count(2), new byte[0], Long.MAX_VALUE);
    Key to = new Key(text("a"), new byte[0], count(4), new byte[0], Long.MAX_VALUE);
    assertEquals("2:2 3:3", shown(entries(new Range(from, true, to, false)).get("a")));
    assertEquals(Map.of(), entries(new Range("b")));
  }

  @Test
  void longRowsAreSeveralAnswers() throws IOException {
    Random random = new Random(7);
    List<byte[]> expected = new ArrayList<>();
    for (int block = 0; block < 10_000; block++) {
      long hits = random.nextInt(1 << 20);
      add("a", block, hits, "");
      expected.add(join(count(block), count(hits)));
    }
    List<byte[]> found = entries(new Range()).get("a");
    assertEquals(shown(expected), shown(found));
    HitsIterator iterator = new HitsIterator();
    iterator.init(Tables.visible(table), Map.of(), Tables.ENVIRONMENT);
    assertEquals(2, Tables.read(iterator, new Range()).size());
  }
}

package watchfloor.cell;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static watchfloor.iterators.Programs.and;
import static watchfloor.iterators.Programs.base64;
import static watchfloor.iterators.Programs.eq;
import static watchfloor.iterators.Programs.exists;
import static watchfloor.iterators.Programs.in;
import static watchfloor.iterators.Programs.join;
import static watchfloor.iterators.Programs.list;
import static watchfloor.iterators.Programs.not;
import static watchfloor.iterators.Programs.number;
import static watchfloor.iterators.Programs.or;
import static watchfloor.iterators.Programs.range;
import static watchfloor.iterators.Programs.regex;
import static watchfloor.iterators.Programs.scalar;
import static watchfloor.iterators.Programs.text;
import static watchfloor.iterators.Programs.time;
import static watchfloor.iterators.Programs.u16;
import static watchfloor.iterators.Programs.u32;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.SortedMap;
import java.util.TreeMap;
import org.apache.accumulo.core.data.Key;
import org.apache.accumulo.core.data.PartialKey;
import org.apache.accumulo.core.data.Range;
import org.apache.accumulo.core.data.Value;
import org.apache.accumulo.core.iterators.SortedKeyValueIterator;
import org.apache.accumulo.core.iterators.WrappingIterator;
import org.apache.accumulo.core.iterators.user.WholeRowIterator;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import watchfloor.iterators.Heartbeat;
import watchfloor.iterators.EventOptions;
import watchfloor.iterators.Programs;
import watchfloor.iterators.Tables;
import watchfloor.iterators.filter.FilterProgram;

class EventFilterIteratorTest {
  private final TreeMap<Key, Value> table = new TreeMap<>();
  private final List<byte[]> rows = new ArrayList<>();

  /** Event i happened i seconds after the first; it has the number in "n" as a hash too. */
  @BeforeEach
  void fill() {
    event(0, "host", text("alpha.example"), "n", number(-5), "tags", list(text("a"), null, text("b")));
    event(1, "host", text("Beta.example"), "n", number(0), "tags", list());
    event(2, "host", text("nul\0byte"), "n", number(12));
    event(3, "n", number(Long.MAX_VALUE), "tags", list((byte[]) null));
    event(4, "", new byte[0]);
    event(5, "host", text(""), "z", text("last"));
  }

  private void event(int i, Object... cells) {
    byte[] row = Tables.eventRow(i % 2, Tables.NOW + i * 1_000_000L, i);
    rows.add(row);
    for (int c = 0; c < cells.length; c += 2) {
      Tables.cell(table, row, (String) cells[c], (byte[]) cells[c + 1], "");
    }
  }

  private static EventFilterIterator iterator(
      SortedKeyValueIterator<Key, Value> source, byte[] program, String... columns) throws IOException {
    Map<String, String> options = new HashMap<>();
    if (program != null) {
      options.put(EventOptions.FILTER, base64(program));
    }
    if (columns.length > 0) {
      options.put(EventOptions.COLUMNS, String.join(EventOptions.SEPARATOR, columns));
    }
    options.put(EventOptions.TIME, "ts");
    EventFilterIterator iterator = new EventFilterIterator();
    assertTrue(iterator.validateOptions(options));
    iterator.init(source, options, Tables.ENVIRONMENT);
    return iterator;
  }

  /** The numbers of the events that a program lets through, in ascending order. */
  private List<Integer> hits(byte[] program, String... authorizations) throws IOException {
    List<Integer> hits = new ArrayList<>();
    for (Key key : Tables.read(iterator(Tables.visible(table, authorizations), program), new Range()).keySet()) {
      hits.add((int) ByteBuffer.wrap(key.getRowData().toArray()).getLong(12));
    }
    hits.sort(null);
    return hits;
  }

  private void assertHits(byte[] program, Integer... events) throws IOException {
    assertEquals(List.of(events), hits(program));
    List<Integer> others = new ArrayList<>(List.of(0, 1, 2, 3, 4, 5));
    others.removeAll(List.of(events));
    assertEquals(others, hits(not(program)), "not");
  }

  @Test
  void isAWholeRowIterator() throws IOException {
    assertTrue(WholeRowIterator.class.isAssignableFrom(EventFilterIterator.class));
    Key key = Tables.read(iterator(Tables.visible(table), null), new Range()).firstKey();
    assertEquals(new Key(key.getRow()), key);
  }

  @Test
  void withoutAFilterAllEventsMatch() throws IOException {
    assertEquals(List.of(0, 1, 2, 3, 4, 5), hits(null));
    assertHits(Programs.TRUE, 0, 1, 2, 3, 4, 5);
  }

  @Test
  void equality() throws IOException {
    assertHits(eq(scalar("host"), text("alpha.example")), 0);
    assertHits(eq(scalar("host"), text("alpha")));
    assertHits(eq(scalar("host"), text("")), 5);
    assertHits(eq(scalar("host"), text("nul\0byte")), 2);
    assertHits(eq(scalar("host"), text("nul")));
    assertHits(eq(scalar("none"), text("")));
  }

  @Test
  void ranges() throws IOException {
    byte[] n = scalar("n");
    assertHits(range(n, "[]", number(-5), number(12)), 0, 1, 2);
    assertHits(range(n, "()", number(-5), number(12)), 1);
    assertHits(range(n, "[)", number(-5), number(12)), 0, 1);
    assertHits(range(n, "(]", number(-5), number(12)), 1, 2);
    assertHits(range(n, "[]", number(1), null), 2, 3);
    assertHits(range(n, "[]", null, number(-1)), 0);
    assertHits(range(n, "[]", null, null), 0, 1, 2, 3);
    assertHits(range(scalar("host"), "[)", text("a"), text("b")), 0);
  }

  @Test
  void membership() throws IOException {
    assertHits(in(scalar("n"), number(12), number(-5), number(99)), 0, 2);
    assertHits(in(scalar("n")));
    assertHits(in(list("tags"), text("b"), text("c")), 0);
  }

  @Test
  void patterns() throws IOException {
    assertHits(regex(scalar("host"), "beta", false));
    assertHits(regex(scalar("host"), "beta", true), 1);
    assertHits(regex(scalar("host"), "^[a-z]+\\.example$", false), 0);
    assertHits(regex(scalar("host"), "l\\x00b", false), 2);
    assertHits(regex(scalar("host"), "", false), 0, 1, 2, 5);
    assertHits(regex(list("tags"), "^b$", false), 0);
  }

  @Test
  void existence() throws IOException {
    assertHits(exists(scalar("host")), 0, 1, 2, 5);
    assertHits(exists(list("tags")), 0, 1, 3);
    assertHits(exists(time("ts")), 0, 1, 2, 3, 4, 5);
    assertHits(exists(scalar("z")), 5);
  }

  @Test
  void anyElementOfAListSatisfies() throws IOException {
    assertHits(eq(list("tags"), text("a")), 0);
    assertHits(eq(list("tags"), text("b")), 0);
    assertHits(eq(list("tags"), text("")));
    assertHits(range(list("tags"), "[]", null, null), 0);
  }

  @Test
  void timeIsReadFromTheRow() throws IOException {
    byte[] second = number(Tables.NOW + 2_000_000);
    assertHits(eq(time("ts"), second), 2);
    assertHits(range(time("ts"), "[)", second, number(Tables.NOW + 4_000_000)), 2, 3);
    assertHits(range(time("ts"), "[)", number(-1), number(0)));
  }

  @Test
  void logic() throws IOException {
    byte[] small = range(scalar("n"), "[]", null, number(0));
    byte[] tagged = exists(list("tags"));
    assertHits(and(small, tagged), 0, 1);
    assertHits(and(small, not(eq(list("tags"), text("a")))), 1);
    assertHits(or(eq(scalar("z"), text("last")), eq(scalar("n"), number(12))), 2, 5);
    assertHits(and(), 0, 1, 2, 3, 4, 5);
    assertHits(or());
    assertHits(not(not(small)), 0, 1);
  }

  @Test
  void onlyWantedColumnsTravel() throws IOException {
    EventFilterIterator iterator =
        iterator(Tables.visible(table), eq(scalar("n"), number(-5)), "tags", "none", "ts", "host");
    TreeMap<Key, Value> found = Tables.read(iterator, new Range());
    assertEquals(1, found.size());
    byte[] tags = list(text("a"), null, text("b"));
    byte[] expected =
        join(
            join(u16(0), u32(tags.length), tags),
            join(u16(2), u32(8), number(Tables.NOW)),
            join(u16(3), u32(13), text("alpha.example")));
    assertArrayEquals(expected, found.firstEntry().getValue().get());

    SortedMap<Key, Value> cells = iterator.rowDecoder(found.firstKey(), found.firstEntry().getValue());
    assertEquals(3, cells.size());
    byte[] row = rows.get(0);
    Key host = new Key(row, new byte[0], text("host"), new byte[0], Long.MAX_VALUE);
    assertArrayEquals(text("alpha.example"), cells.get(host).get());

    List<Key> keys = new ArrayList<>();
    List<Value> values = new ArrayList<>();
    table.subMap(new Key(row), new Key(row).followingKey(PartialKey.ROW))
        .forEach(
            (key, value) -> {
              keys.add(key);
              values.add(value);
            });
    assertArrayEquals(expected, iterator.rowEncoder(keys, values).get());
  }

  @Test
  void withoutColumnsTheValueIsEmpty() throws IOException {
    for (Value value : Tables.read(iterator(Tables.visible(table), null), new Range()).values()) {
      assertEquals(0, value.getSize());
    }
  }

  @Test
  void hiddenCellsAreAsMissing() throws IOException {
    byte[] row = Tables.eventRow(0, Tables.NOW + 9_000_000, 9);
    Tables.cell(table, row, "host", text("secret.example"), "secret");
    Tables.cell(table, row, "n", number(9), "");
    byte[] hidden = Tables.eventRow(0, Tables.NOW + 8_000_000, 8);
    Tables.cell(table, hidden, "n", number(8), "secret");

    byte[] host = eq(scalar("host"), text("secret.example"));
    assertEquals(List.of(), hits(host));
    assertEquals(List.of(9), hits(host, "secret"));
    assertEquals(List.of(0, 1, 2, 3, 4, 5, 9), hits(not(host)));
    assertEquals(List.of(0, 1, 2, 3, 4, 5, 8), hits(not(host), "secret"));
    assertEquals(List.of(8), hits(eq(scalar("n"), number(8)), "secret"));
  }

  @Test
  void ofTwoCellsOfAFieldTheFirstCounts() throws IOException {
    Tables.cell(table, rows.get(2), "host", text("relabelled"), "secret");
    assertEquals(List.of(2), hits(eq(scalar("host"), text("nul\0byte")), "secret"));
    assertEquals(List.of(), hits(eq(scalar("host"), text("relabelled")), "secret"));
  }

  @Test
  void aTornScanGivesTheSameAsOnePass() throws IOException {
    Random random = new Random(1);
    for (int i = 10; i < 400; i++) {
      event(i, "n", number(random.nextInt(5)), "host", text("h" + random.nextInt(3)), "v", new byte[random.nextInt(9000)]);
    }
    for (byte[] program : Arrays.asList(null, eq(scalar("n"), number(3)), not(eq(scalar("host"), text("h1"))))) {
      for (Range range : List.of(new Range(), Range.prefix("0001"), new Range("0000", true, "0001", false))) {
        EventFilterIterator iterator = iterator(Tables.visible(table), program, "v", "n");
        TreeMap<Key, Value> whole = Tables.read(iterator, range);
        assertFalse(whole.isEmpty());
        assertEquals(whole, Tables.readTorn(iterator, range));
        assertEquals(whole, Tables.read(iterator.deepCopy(Tables.ENVIRONMENT), range));
      }
    }
  }

  /** A source in which each event takes longer than a scan may stay silent. */
  private static final class Slow extends WrappingIterator {
    Slow(SortedKeyValueIterator<Key, Value> source) {
      setSource(source);
    }

    @Override
    public void next() throws IOException {
      long begin = System.nanoTime();
      while (System.nanoTime() - begin <= Heartbeat.NANOS) {
        Thread.onSpinWait();
      }
      super.next();
    }
  }

  @Test
  void aScanThatFindsNothingSaysHowFarItHasCome() throws IOException {
    EventFilterIterator iterator = iterator(new Slow(Tables.visible(table)), eq(scalar("z"), text("last")), "z");
    List<Key> found = new ArrayList<>();
    Key last = null;
    int beats = 0;
    iterator.seek(new Range(), List.of(), false);
    while (iterator.hasTop()) {
      Key key = iterator.getTopKey();
      assertTrue(last == null || key.compareTo(last) > 0);
      last = key;
      if (Heartbeat.is(iterator.getTopValue())) {
        beats++;
        iterator.seek(new Range(key, false, null, true), List.of(), false);
      } else {
        found.add(key);
        iterator.next();
      }
    }
    assertEquals(1, found.size());
    assertEquals(5, beats);
  }

  @Test
  void aSeekAfterTheLastRowOfARangeEnds() throws IOException {
    byte[] row = rows.get(2);
    byte[] after = Arrays.copyOf(row, row.length + 1);
    Range exact = new Range(new Key(row), true, new Key(after), false);
    assertEquals(1, Tables.readTorn(iterator(Tables.visible(table), null), exact).size());
  }

  @Test
  void brokenProgramsAreRefused() {
    byte[] whole = and(eq(scalar("n"), number(1)), in(list("tags"), text("a")), range(scalar("n"), "[]", number(1), null));
    FilterProgram.check(whole);
    for (int length = 0; length < whole.length; length++) {
      byte[] cut = Arrays.copyOf(whole, length);
      assertThrows(IllegalArgumentException.class, () -> FilterProgram.check(cut));
    }
    byte[] deep = new byte[100_000];
    Arrays.fill(deep, (byte) 3);
    byte[] deepExpression = new byte[100_000];
    Arrays.fill(deepExpression, (byte) 5);
    deepExpression[0] = 0x16;
    byte[] sum = join(new byte[] {0x06, 0x01, 1}, scalar("n"), new byte[] {0x02}, number(1));
    byte[] host = join(new byte[] {0x01, 0}, scalar("host"));
    byte[] length = join(new byte[] {0x0A}, host);
    byte[] computed = and(join(new byte[] {0x16, 3}, sum, length), exists(join(new byte[] {3}, length)));
    FilterProgram.check(computed);
    for (int cutAt = 0; cutAt < computed.length; cutAt++) {
      byte[] cut = Arrays.copyOf(computed, cutAt);
      assertThrows(IllegalArgumentException.class, () -> FilterProgram.check(cut));
    }
    for (byte[] bad :
        List.of(
            join(whole, new byte[1]),
            new byte[] {0x7F},
            regex(scalar("host"), "(", false),
            regex(scalar("host"), "(a)\\1", false),
            exists(Programs.field(9, "host")),
            join(new byte[] {0x14}, scalar("n"), u32(-1)),
            join(new byte[] {0x11}, scalar("n"), u32(Integer.MAX_VALUE)),
            join(new byte[] {0x16, 0}, sum, host),
            join(new byte[] {0x16, 9}, sum, length),
            join(new byte[] {0x16, 0, 0x09}, length, length, length),
            join(new byte[] {0x16, 0, 0x0D}, host, sum),
            join(new byte[] {0x16, 0, 0x7F}, host, sum),
            join(new byte[] {0x16, 0, 0x0C}, host, host),
            join(new byte[] {0x16, 0, 0x01, 9}, scalar("n"), sum),
            join(new byte[] {0x20, 1, 1}, u32(3), text("abc"), computed),
            join(new byte[] {0x20, 1, 9}, u32(0), computed),
            deepExpression,
            deep)) {
      assertThrows(IllegalArgumentException.class, () -> FilterProgram.check(bad));
    }
  }

  @Test
  void aDamagedListIsAnError() {
    table.clear();
    event(0, "tags", u32(99));
    assertThrows(IllegalStateException.class, () -> hits(eq(list("tags"), text("a"))));
  }

  @Test
  void patternsTakeLinearTime() throws IOException {
    table.clear();
    event(0, "host", text("a".repeat(50_000)));
    assertEquals(List.of(), hits(regex(scalar("host"), "(a*)*b", false)));
  }
}

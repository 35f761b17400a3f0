package watchfloor.block;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static watchfloor.iterators.Programs.base64;
import static watchfloor.iterators.Programs.eq;
import static watchfloor.iterators.Programs.exists;
import static watchfloor.iterators.Programs.list;
import static watchfloor.iterators.Programs.not;
import static watchfloor.iterators.Programs.range;
import static watchfloor.iterators.Programs.regex;
import static watchfloor.iterators.Programs.scalar;
import static watchfloor.iterators.Programs.text;
import static watchfloor.iterators.Programs.time;
import static watchfloor.iterators.Programs.u16;

import java.io.IOException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.apache.accumulo.core.data.Key;
import org.apache.accumulo.core.data.PartialKey;
import org.apache.accumulo.core.data.Range;
import org.apache.accumulo.core.data.Value;
import org.apache.accumulo.core.iterators.SortedKeyValueIterator;
import org.apache.accumulo.core.iterators.WrappingIterator;
import org.apache.hadoop.io.Text;
import org.junit.jupiter.api.Test;
import watchfloor.block.vector.Vector;
import watchfloor.block.vector.Vectors;
import watchfloor.cell.EventFilterIterator;
import watchfloor.iterators.AnswerKeys;
import watchfloor.iterators.Heartbeat;
import watchfloor.iterators.BigEndian;
import watchfloor.iterators.EventOptions;
import watchfloor.iterators.Programs;
import watchfloor.iterators.Tables;

class BlockIteratorTest extends DrawnBlocks {
  private BlockIterator iterator(byte[] program, String... columns) {
    return iterator(Tables.visible(blocks), options(program, columns));
  }

  private static final int NEXT_LENGTH = AnswerKeys.FIELD_HEADER + 24;

  /** The row that an answer says comes next, null if it says none. */
  private static byte[] next(Value answer) {
    byte[] bytes = answer.get();
    int at = bytes.length - NEXT_LENGTH;
    return at >= 0 && BigEndian.getUnsignedShort(bytes, at) == AnswerKeys.NEXT
        ? Arrays.copyOfRange(bytes, at + AnswerKeys.FIELD_HEADER, bytes.length)
        : null;
  }

  /** An answer without that. */
  private static byte[] vectors(Value answer) {
    return Arrays.copyOf(answer.get(), answer.getSize() - (next(answer) == null ? 0 : NEXT_LENGTH));
  }

  /** Reads an answer: by row, the values of each column. */
  private static List<Map<String, String>> read(Value answer, String... columns) {
    List<Map<String, String>> rows = new ArrayList<>();
    byte[] bytes = vectors(answer);
    for (int at = 0; at < bytes.length; ) {
      String column = columns[BigEndian.getUnsignedShort(bytes, at)];
      int length = BigEndian.getInt(bytes, at + 2);
      Vector vector = new Vector("answer").wrap(Arrays.copyOfRange(bytes, at + 6, at + 6 + length));
      while (rows.size() < vector.rows()) {
        rows.add(new HashMap<>());
      }
      assertEquals(rows.size(), vector.rows());
      List<byte[]> values = new ArrayList<>();
      if (vector.form() == Vector.LIST) {
        Vectors.lists(vector).forEach(list -> values.add(list == null ? null : list(list.toArray(new byte[0][]))));
      } else {
        values.addAll(Vectors.values(vector));
      }
      for (int i = 0; i < rows.size(); i++) {
        if (values.get(i) != null) {
          rows.get(i).put(column, Arrays.toString(values.get(i)));
        }
      }
      at += 6 + length;
    }
    return rows;
  }

  /** What the blocks give, event by event, in the order of events; each event's shard, time and values. */
  private List<String> fromBlocks(Map<Key, Value> answers, String... columns) {
    List<String> out = new ArrayList<>();
    answers.forEach(
        (key, answer) -> {
          String shard = new String(key.getRowData().toArray(), 0, 4);
          read(answer, columns).forEach(event -> out.add(shard + new TreeMap<>(event)));
        });
    out.sort(null);
    return out;
  }

  private List<String> fromCells(byte[] program, String[] authorizations, String... columns) throws IOException {
    EventFilterIterator iterator = new EventFilterIterator();
    iterator.init(Tables.visible(events, authorizations), options(program, columns), Tables.ENVIRONMENT);
    List<String> out = new ArrayList<>();
    Tables.read(iterator, new Range())
        .forEach(
            (key, answer) -> {
              Map<String, String> event = new TreeMap<>();
              byte[] bytes = answer.get();
              for (int at = 0; at < bytes.length; ) {
                int length = BigEndian.getInt(bytes, at + 2);
                byte[] value = Arrays.copyOfRange(bytes, at + 6, at + 6 + length);
                event.put(columns[BigEndian.getUnsignedShort(bytes, at)], Arrays.toString(value));
                at += 6 + length;
              }
              out.add(new String(key.getRowData().toArray(), 0, 4) + event);
            });
    out.sort(null);
    return out;
  }

  @Test
  void drawnFiltersGiveWhatTheCellLayoutGives() throws IOException {
    fill(20, "red");
    int some = 0;
    for (int round = 0; round < 200; round++) {
      byte[] program = tree(3);
      String[] authorizations = random.nextInt(4) == 0 ? new String[0] : new String[] {"red"};
      BlockIterator iterator = iterator(Tables.visible(blocks, authorizations), options(program, FIELDS), environment(authorizations));
      TreeMap<Key, Value> answers = Tables.read(iterator, new Range());
      List<String> found = fromBlocks(answers, FIELDS);
      assertEquals(fromCells(program, authorizations, FIELDS), found, () -> base64(program));
      assertEquals(answers, Tables.readTorn(iterator, new Range()), "torn");
      some += found.isEmpty() || answers.size() == 20 && found.size() == written ? 0 : 1;
    }
    assertTrue(some > 50, "filters that some events pass: " + some);
  }

  @Test
  void ofABlockComeItsNewestEventsUpToTheMost() throws IOException {
    fill(12, "");
    int cut = 0;
    for (int round = 0; round < 60; round++) {
      byte[] program = round == 0 ? null : tree(2);
      int most = 1 + random.nextInt(20);
      Map<String, String> options = options(program, FIELDS);
      TreeMap<Key, Value> all = Tables.read(iterator(Tables.visible(blocks), options), new Range());
      options.put(EventOptions.MOST, Integer.toString(most));
      BlockIterator iterator = iterator(Tables.visible(blocks), options);
      TreeMap<Key, Value> newest = Tables.read(iterator, new Range());
      assertEquals(all.keySet(), newest.keySet());
      for (Map.Entry<Key, Value> answer : all.entrySet()) {
        List<Map<String, String>> events = read(answer.getValue(), FIELDS);
        assertEquals(
            events.subList(0, Math.min(most, events.size())), read(newest.get(answer.getKey()), FIELDS));
        cut += events.size() > most ? 1 : 0;
      }
      assertEquals(newest, Tables.readTorn(iterator, new Range()), "torn");
    }
    assertTrue(cut > 50, "answers with more events than wanted: " + cut);
    for (String wrong : List.of("0", "-1", "x")) {
      assertThrows(
          IllegalArgumentException.class, () -> new BlockIterator().validateOptions(Map.of(EventOptions.MOST, wrong)));
    }
  }

  @Test
  void anyColumnsInAnyOrder() throws IOException {
    fill(6, "");
    byte[] program = range(scalar("port"), "[]", u16(30_000), null);
    for (String wanted : List.of("uri,\1offset", "port,host", "ts")) {
      String[] columns = wanted.split(",");
      TreeMap<Key, Value> answers = Tables.read(iterator(program, columns), new Range());
      List<String> cells = fromCells(program, new String[0], columns);
      assertEquals(cells, fromBlocks(answers, columns));
      assertFalse(cells.isEmpty());
    }
    assertTrue(
        Tables.read(iterator(program), new Range()).values().stream().allMatch(answer -> vectors(answer).length == 0));
  }

  @Test
  void aWholeBlockIsPassedOnAsItIs() throws IOException {
    fill(3, "");
    for (byte[] program : new byte[][] {null, Programs.TRUE, exists(time("ts")), exists(scalar("port"))}) {
      Tables.read(iterator(program, "port"), new Range())
          .forEach(
              (key, answer) -> {
                byte[] stored = blocks.get(Tables.key(key.getRowData().toArray(), "", text("port"), "")).get();
                byte[] passedOn = Arrays.copyOfRange(answer.get(), 6, vectors(answer).length);
                assertArrayEquals(stored, passedOn);
              });
    }
  }

  @Test
  void answersAreRows() throws IOException {
    fill(4, "");
    for (Key key : Tables.read(iterator((byte[]) null), new Range()).keySet()) {
      assertEquals(new Key(key.getRow()), key);
      assertEquals(24, key.getRowData().length());
    }
  }

  @Test
  void anAnswerSaysWhichRowComesNext() throws IOException {
    fill(30, "");
    List<Text> rows = blocks.keySet().stream().map(Key::getRow).distinct().toList();
    // The next block often has no such event: it comes next nevertheless.
    byte[] program = range(scalar("port"), "[]", u16(1000), u16(4000));
    int last = 20;
    for (Text end : Arrays.asList(null, rows.get(last))) {
      Range range = end == null ? new Range() : new Range(null, false, new Key(end), false);
      TreeMap<Key, Value> answers = Tables.read(iterator(program, "uri"), range);
      assertTrue(answers.size() > 5);
      answers.forEach(
          (key, answer) -> {
            int place = rows.indexOf(key.getRow()) + 1;
            assertArrayEquals(place < rows.size() ? rows.get(place).copyBytes() : null, next(answer));
          });
      assertTrue(answers.size() < (end == null ? rows.size() : last), "all blocks have answers");
    }
  }

  @Test
  void theLastAnswerOfARangeSaysWhichRowFollowsTheRange() throws IOException {
    fill(12, "");
    List<Text> rows = blocks.keySet().stream().map(Key::getRow).distinct().toList();
    for (int end = 1; end <= rows.size(); end++) {
      Key endKey = end < rows.size() ? new Key(rows.get(end)) : wholeRow(rows.get(end - 1)).getEndKey();
      TreeMap<Key, Value> answers = Tables.read(iterator((byte[]) null, "uri"), new Range(null, false, endKey, false));
      assertEquals(end, answers.size());
      byte[] expected = end < rows.size() ? rows.get(end).copyBytes() : null;
      assertArrayEquals(expected, next(answers.lastEntry().getValue()));
      // Who asks for one row alone does not want to know.
      Range row = wholeRow(rows.get(end - 1));
      assertNull(next(Tables.read(iterator((byte[]) null, "uri"), row).firstEntry().getValue()));
    }
  }

  private static Range wholeRow(Text row) {
    return new Range(new Key(row), true, new Key(row).followingKey(PartialKey.ROW), false);
  }

  @Test
  void aRangeOfRowsAndAScanThatIsTorn() throws IOException {
    fill(30, "");
    byte[] program = not(eq(scalar("port"), u16(443)));
    for (Range range : List.of(new Range(), Range.prefix("0001"), new Range("0000", true, "0001", false))) {
      BlockIterator iterator = iterator(program, "host", "uri");
      TreeMap<Key, Value> whole = Tables.read(iterator, range);
      assertFalse(whole.isEmpty());
      assertEquals(whole, Tables.readTorn(iterator, range));
      assertEquals(whole, Tables.read(iterator.deepCopy(Tables.ENVIRONMENT), range));
    }
    byte[] row = blocks.firstKey().getRowData().toArray();
    Range exact = new Range(new Key(row), true, new Key(Arrays.copyOf(row, 25)), false);
    assertEquals(1, Tables.readTorn(iterator(null, "uri"), exact).size());
  }

  /** A table that takes its time. */
  private static final class Slow extends WrappingIterator {
    Slow(SortedKeyValueIterator<Key, Value> source) {
      setSource(source);
    }

    @Override
    public Value getTopValue() {
      long begin = System.nanoTime();
      while (System.nanoTime() - begin < 4_000_000) {
        Thread.onSpinWait();
      }
      return super.getTopValue();
    }
  }

  @Test
  void aScanThatFindsNothingSaysHowFarItHasCome() throws IOException {
    fill(40, "");
    byte[] program = regex(scalar("host"), "nowhere", false);
    for (int at : new int[] {7, 33}) {
      Event event = draw(Tables.NOW + at * 1000 * SECOND, true);
      event.values.put("host", text("nowhere"));
      block(at % 2, event.micros, new ArrayList<>(List.of(event)), "");
    }
    BlockIterator iterator = iterator(new Slow(Tables.visible(blocks)), options(program, "uri"));
    List<Key> found = new ArrayList<>();
    int beats = 0;
    iterator.seek(new Range(), List.of(), false);
    Key last = null;
    while (iterator.hasTop()) {
      Key key = iterator.getTopKey();
      assertTrue(last == null || key.compareTo(last) > 0);
      last = key;
      if (!Heartbeat.is(iterator.getTopValue())) {
        found.add(key);
        iterator.next();
      } else if (++beats % 2 == 0) {
        iterator.next();
      } else {
        // As the servers do when a client asks on in another session.
        iterator.seek(new Range(key, false, null, true), List.of(), false);
      }
    }
    assertEquals(2, found.size());
    assertTrue(beats >= 2, beats + " beats");
    assertEquals(new ArrayList<>(Tables.read(iterator(program, "uri"), new Range()).keySet()), found);
  }

  @Test
  void damageIsAnErrorThatSaysWhere() throws IOException {
    fill(1, "");
    byte[] row = blocks.firstKey().getRowData().toArray();
    byte[] vector = blocks.get(Tables.key(row, "", text("uri"), "")).get().clone();
    vector[vector.length - 1] ^= 1;
    put(blocks, row, "uri", vector, "");
    byte[] program = regex(scalar("uri"), "1", false);
    String message =
        assertThrows(IllegalStateException.class, () -> Tables.read(iterator(program), new Range())).getMessage();
    assertEquals("vector of field uri: the checksum is wrong", message);

    put(blocks, row, "uri", Vectors.plain(0, List.of(text("a"), text("b"), text("c"))), "");
    message = assertThrows(IllegalStateException.class, () -> Tables.read(iterator(program), new Range())).getMessage();
    assertTrue(message.contains("field uri has 3 rows"), message);
    put(blocks, text("short"), "uri", vector, "");
    assertThrows(IllegalStateException.class, () -> Tables.read(iterator(program), new Range()));
    assertThrows(IllegalArgumentException.class, () -> iterator(new byte[] {0x7F}));
  }
}

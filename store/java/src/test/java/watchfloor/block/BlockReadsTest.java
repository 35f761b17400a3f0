package watchfloor.block;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static watchfloor.iterators.Programs.and;
import static watchfloor.iterators.Programs.eq;
import static watchfloor.iterators.Programs.exists;
import static watchfloor.iterators.Programs.not;
import static watchfloor.iterators.Programs.number;
import static watchfloor.iterators.Programs.or;
import static watchfloor.iterators.Programs.range;
import static watchfloor.iterators.Programs.regex;
import static watchfloor.iterators.Programs.scalar;
import static watchfloor.iterators.Programs.text;
import static watchfloor.iterators.Programs.time;

import java.io.IOException;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Collections;
import java.util.List;
import java.util.TreeMap;
import org.apache.accumulo.core.data.ByteSequence;
import org.apache.accumulo.core.data.Key;
import org.apache.accumulo.core.data.Range;
import org.apache.accumulo.core.data.Value;
import org.apache.accumulo.core.iterators.IteratorEnvironment;
import org.apache.accumulo.core.iterators.SortedKeyValueIterator;
import org.apache.accumulo.core.iterators.WrappingIterator;
import org.junit.jupiter.api.Test;
import watchfloor.block.vector.Vectors;
import watchfloor.iterators.Tables;

/** What a scan of blocks does not read. */
class BlockReadsTest extends DrawnBlocks {
  /** Counts what is asked of the table. */
  private static final class Counting extends WrappingIterator {
    int seeks;
    int steps;
    long bytes;
    /** The copy by which zones are read. */
    Counting zones;

    Counting(SortedKeyValueIterator<Key, Value> source) {
      setSource(source);
    }

    @Override
    public void seek(Range range, Collection<ByteSequence> families, boolean inclusive) throws IOException {
      seeks++;
      super.seek(range, families, inclusive);
    }

    @Override
    public void next() throws IOException {
      steps++;
      super.next();
    }

    @Override
    public Value getTopValue() {
      bytes++;
      return super.getTopValue();
    }

    @Override
    public SortedKeyValueIterator<Key, Value> deepCopy(IteratorEnvironment environment) {
      zones = new Counting(getSource().deepCopy(environment));
      return zones;
    }
  }

  @Test
  void timeBoundsOfTheRowSkipBlocksUnread() throws IOException {
    fill(20, "");
    Counting table = new Counting(Tables.visible(blocks));
    byte[] late = range(time("ts"), "[)", number(Tables.NOW + 1), null);
    for (byte[] program : List.of(late, and(leaf(), late), or(late, late), not(not(late)))) {
      table.bytes = 0;
      assertEquals(0, Tables.read(iterator(table, options(program, FIELDS)), new Range()).size());
      assertEquals(0, table.bytes, "values read");
    }
    // All of it is within: the time's own cell is not read, and none but the one that says how many rows there are.
    table.bytes = 0;
    byte[] all = range(time("ts"), "[)", number(0), number(Tables.NOW + 1));
    assertEquals(20, Tables.read(iterator(table, options(all)), new Range()).size());
    assertEquals(20, table.bytes, "values read");
  }

  @Test
  void blocksWhoseZonesExcludeTheFilterAreNotRead() throws IOException {
    fill(40, "");
    byte[] none = range(scalar("bytes"), "[]", number(5000), null);
    byte[][] programs = {none, and(leaf(), none), or(none, eq(scalar("uri"), text("zzz"))), exists(scalar("none"))};
    for (byte[] program : programs) {
      Counting table = new Counting(Tables.visible(blocks));
      BlockIterator iterator = iterator(table, options(program, FIELDS), Tables.ZONED);
      assertEquals(0, Tables.read(iterator, new Range()).size());
      assertTrue(table.seeks + table.steps < 10 && table.bytes < 10, "of the first block alone: " + table.steps);
      assertTrue(table.zones.seeks > 0);
    }
    // Nothing that zones decide: they are not read.
    for (byte[] program : new byte[][] {regex(scalar("uri"), "none", false), or(none, regex(scalar("uri"), "/", false))}) {
      Counting table = new Counting(Tables.visible(blocks));
      Tables.read(iterator(table, options(program, FIELDS), Tables.ZONED), new Range());
      assertTrue(table.seeks > 0 && table.zones == null);
    }
    // After a block with matches the next one is read at once, and so is the first one.
    Counting table = new Counting(Tables.visible(blocks));
    assertEquals(40, Tables.read(iterator(table, options(exists(scalar("ts"))), Tables.ZONED), new Range()).size());
    assertEquals(0, table.zones.seeks);
  }

  @Test
  void onlyWhatIsNeededIsRead() throws IOException {
    List<Event> drawn = new ArrayList<>();
    for (int i = 0; i < 50; i++) {
      drawn.add(draw(Tables.NOW - i, true));
    }
    byte[] row = block(0, Tables.NOW, drawn, "");
    for (int i = 0; i < 200; i++) {
      put(blocks, row, String.format("f%03d", i), Vectors.plain(0, Collections.nCopies(50, null)), "");
    }
    Counting table = new Counting(Tables.visible(blocks));
    byte[] program = eq(scalar("uri"), text("none"));
    assertEquals(0, Tables.read(iterator(table, options(program, FIELDS)), new Range()).size());
    assertTrue(table.steps < 10 && table.seeks < 5, table.steps + " steps, " + table.seeks + " seeks");
  }

  @Test
  void whatWasReadIsNotReadAgain() throws IOException {
    fill(20, "red");
    IteratorEnvironment scan = Tables.scan("reads-" + System.nanoTime(), false, "red");
    TreeMap<Key, Value> right = Tables.read(iterator(Tables.visible(blocks, "red"), options(null, FIELDS)), new Range());
    for (int round = 0; round < 2; round++) {
      Counting table = new Counting(Tables.visible(blocks, "red"));
      assertEquals(right, Tables.read(iterator(table, options(null, FIELDS), scan), new Range()));
      assertTrue(round == 0 ? table.bytes > 20 * 3 : table.bytes == 0, "values read: " + table.bytes);
    }
    // Of what another scan lacks, only that is read.
    Counting table = new Counting(Tables.visible(blocks, "red"));
    put(blocks, right.firstKey().getRowData().toArray(), "zone", Vectors.plain(0, Collections.emptyList()), "");
    Tables.read(iterator(table, options(null, "ts", "zzz"), scan), new Range());
    assertEquals(0, table.bytes, "values read");
    // A range of one block is over with it: nothing behind it is looked for.
    table.seeks = table.steps = 0;
    Range one = new Range(right.firstKey().getRow());
    assertEquals(1, Tables.read(iterator(table, options(null, FIELDS), scan), one).size());
    assertEquals(1, table.seeks);
    assertEquals(0, table.steps);
  }

  @Test
  void eachReaderSeesItsOwn() throws IOException {
    fill(20, "red");
    String id = "own-" + System.nanoTime();
    for (int round = 0; round < 6; round++) {
      String[] authorizations = round % 2 == 0 ? new String[] {"red"} : new String[0];
      IteratorEnvironment scan = Tables.scan(id, round > 3, authorizations);
      byte[] program = eq(scalar("host"), text("h" + round + ".example"));
      for (byte[] filter : new byte[][] {null, program, not(program)}) {
        TreeMap<Key, Value> right =
            Tables.read(iterator(Tables.visible(blocks, authorizations), options(filter, FIELDS)), new Range());
        BlockIterator iterator = iterator(Tables.visible(blocks, authorizations), options(filter, FIELDS), scan);
        assertEquals(right, Tables.read(iterator, new Range()));
      }
    }
  }

  @Test
  void aBlockThatIsWrittenAnewIsReadAnew() throws IOException {
    byte[] row = block(0, Tables.NOW, new ArrayList<>(List.of(draw(Tables.NOW, true))), "");
    IteratorEnvironment scan = Tables.scan("anew-" + System.nanoTime(), false);
    TreeMap<Key, Value> old = Tables.read(iterator(Tables.visible(blocks), options(null, FIELDS), scan), new Range());
    TreeMap<Key, Value> cells = new TreeMap<>(blocks);
    blocks.clear();
    written = 77;
    block(0, Tables.NOW, new ArrayList<>(List.of(draw(Tables.NOW, true))), "");
    TreeMap<Key, Value> later = new TreeMap<>();
    blocks.forEach((key, value) -> later.put(later(row, key), value));
    TreeMap<Key, Value> right = Tables.read(iterator(Tables.visible(later), options(null, FIELDS)), new Range());
    assertEquals(old.firstKey(), right.firstKey());
    assertNotEquals(old, right);
    for (int round = 0; round < 2; round++) {
      assertEquals(right, Tables.read(iterator(Tables.visible(later), options(null, FIELDS), scan), new Range()));
      // As a scan that began before it was written still sees the old one.
      assertEquals(old, Tables.read(iterator(Tables.visible(cells), options(null, FIELDS), scan), new Range()));
    }
  }

  /** Returns the key of a cell that is written into a row later than another cell with that column. */
  private static Key later(byte[] row, Key key) {
    byte[] qualifier = key.getColumnQualifierData().toArray();
    Key cell = Tables.key(row, key.getColumnFamily().toString(), qualifier, key.getColumnVisibility().toString());
    cell.setTimestamp(key.getTimestamp() + 1);
    return cell;
  }

  @Test
  void damageIsFoundAndNotKept() throws IOException {
    byte[] row = block(0, Tables.NOW, new ArrayList<>(List.of(draw(Tables.NOW, true))), "");
    Key cell = Tables.key(row, "", text("uri"), "");
    Value good = blocks.get(cell);
    byte[] damaged = good.get().clone();
    damaged[damaged.length - 1] ^= 1;
    blocks.put(cell, new Value(damaged));
    IteratorEnvironment scan = Tables.scan("damaged-" + System.nanoTime(), false);
    for (int round = 0; round < 2; round++) {
      BlockIterator iterator = iterator(Tables.visible(blocks), options(eq(scalar("uri"), text("/1"))), scan);
      assertThrows(IllegalStateException.class, () -> Tables.read(iterator, new Range()));
      Tables.read(iterator(Tables.visible(blocks), options(null, "ts", "port"), scan), new Range());
    }
    blocks.put(cell, good);
    BlockIterator iterator = iterator(Tables.visible(blocks), options(exists(scalar("uri")), "uri"), scan);
    assertEquals(1, Tables.read(iterator, new Range()).size());
  }
}

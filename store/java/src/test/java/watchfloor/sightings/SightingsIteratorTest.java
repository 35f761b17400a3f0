package watchfloor.sightings;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static watchfloor.iterators.Programs.text;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.Map;
import java.util.Random;
import java.util.TreeMap;
import org.apache.accumulo.core.data.Key;
import org.apache.accumulo.core.data.Range;
import org.apache.accumulo.core.data.Value;
import org.junit.jupiter.api.Test;
import watchfloor.iterators.Tables;

class SightingsIteratorTest {
  private static final long HOUR = 3_600_000_000L;
  private static final int LOW = 470_000;
  private static final int HIGH = 470_010;

  private final TreeMap<Key, Value> table = new TreeMap<>();
  private final Map<String, Long> expected = new TreeMap<>();

  /** Adds the sighting of a value by an item, with events in the hours from {@code newest} back. */
  private void add(String row, String field, long item, int newest, String label, boolean seen, int... events) {
    byte[] name = text("source\0" + field + "\0");
    ByteBuffer qualifier = ByteBuffer.allocate(16 + name.length);
    qualifier.putLong(Long.MAX_VALUE - newest * HOUR).put(name).putLong(item);
    ByteBuffer cells = ByteBuffer.allocate(8 * events.length);
    for (int age = events.length - 1; age >= 0; age--) {
      cells.putInt(age).putInt(events[age]);
      int hour = newest - age;
      if (seen && hour >= LOW && hour < HIGH) {
        expected.merge(field + " " + hour, (long) events[age], Long::sum);
      }
    }
    table.put(Tables.key(text(row), "", qualifier.array(), label), new Value(cells.array()));
  }

  private static Map<String, Long> sums(TreeMap<Key, Value> answers) {
    Map<String, Long> found = new TreeMap<>();
    for (Value answer : answers.values()) {
      ByteBuffer in = ByteBuffer.wrap(answer.get());
      while (in.hasRemaining()) {
        byte[] name = new byte[in.getShort()];
        in.get(name);
        String field = new String(name).split("\0")[1];
        for (int left = in.getInt(); left > 0; left--) {
          found.merge(field + " " + in.getInt(), in.getLong(), Long::sum);
        }
      }
    }
    return found;
  }

  private void check(Range range) throws IOException {
    SightingsIterator iterator = new SightingsIterator();
    Map<String, String> options = Map.of(SightingsIterator.LOW, "" + LOW, SightingsIterator.HIGH, "" + HIGH);
    iterator.init(Tables.visible(table, "low"), options, Tables.ENVIRONMENT);
    assertEquals(expected, sums(Tables.read(iterator, range)));
    assertEquals(expected, sums(Tables.readTorn(iterator, range)), "torn");
    assertEquals(expected, sums(Tables.read(iterator.deepCopy(Tables.ENVIRONMENT), range)), "copy");
  }

  @Test
  void nothing() throws IOException {
    check(new Range());
  }

  @Test
  void hoursOfAllValuesAndItemsThatTheReaderMaySee() throws IOException {
    Random random = new Random(5);
    for (int n = 0; n < 500; n++) {
      int[] events = random.ints(1 + random.nextInt(4), 1, 1 << 20).toArray();
      boolean seen = random.nextInt(4) > 0;
      String label = seen ? "low" : "high";
      add("v" + random.nextInt(20), "f" + random.nextInt(3), n, LOW - 3 + random.nextInt(18), label, seen, events);
    }
    check(new Range());
  }

  @Test
  void countsOfMoreThan31Bits() throws IOException {
    add("v", "f", 1, LOW, "", true, 2_000_000_000);
    add("w", "f", 1, LOW, "", true, 2_000_000_000);
    check(new Range());
  }

  @Test
  void onlyTheRowsOfTheRange() throws IOException {
    add("a", "f", 1, LOW, "", false, 1);
    add("b", "f", 1, LOW, "", true, 2);
    add("c", "f", 1, LOW, "", false, 4);
    check(new Range("b", true, "c", false));
  }
}

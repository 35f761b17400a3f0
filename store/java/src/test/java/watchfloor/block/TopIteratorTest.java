package watchfloor.block;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static watchfloor.iterators.Programs.TRUE;
import static watchfloor.iterators.Programs.base64;
import static watchfloor.iterators.Programs.join;
import static watchfloor.iterators.Programs.scalar;
import static watchfloor.iterators.Programs.time;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.apache.accumulo.core.data.Key;
import org.apache.accumulo.core.data.Range;
import org.apache.accumulo.core.data.Value;
import org.junit.jupiter.api.Test;
import watchfloor.cell.CellTopIterator;
import watchfloor.iterators.SortOptions;
import watchfloor.iterators.StatsOptions;
import watchfloor.iterators.Tables;
import watchfloor.sorting.SortKey;
import watchfloor.sorting.SortProgram;

class TopIteratorTest extends DrawnBlocks {
  private static final String[] NAMES = {"host", "port", "bytes", "uri", "none", "ts"};
  private static final int HASH_DIGITS = 16;

  private static byte[] program(int... orders) {
    byte[] out = {(byte) orders.length};
    for (int order : orders) {
      String name = NAMES[order >> 1];
      out = join(out, new byte[] {(byte) (order & 1)}, name.equals("ts") ? time(name) : scalar(name));
    }
    return out;
  }

  private static Map<String, String> options(byte[] filter, byte[] program, int most, int mostBytes) {
    Map<String, String> options = options(filter);
    options.put(SortOptions.PROGRAM, base64(program));
    options.put(SortOptions.EVENTS, Integer.toString(most));
    options.put(StatsOptions.MOST_BYTES, Integer.toString(mostBytes));
    return options;
  }

  /** Returns the first sort keys of all answers, in hexadecimal digits, without the hash: blocks here have no file. */
  private static List<String> keys(TreeMap<Key, Value> answers, int most) {
    List<String> keys = new ArrayList<>();
    for (Value answer : answers.values()) {
      ByteBuffer in = ByteBuffer.wrap(answer.get()).order(ByteOrder.LITTLE_ENDIAN);
      int count = in.getInt();
      int width = in.getInt();
      assertTrue(count <= most);
      int[] lengths = new int[count];
      for (int i = 0; i < count; i++) {
        lengths[i] = in.getInt();
      }
      for (int length : lengths) {
        byte[] key = new byte[length];
        in.get(key);
        String digits = HexFormat.of().formatHex(key);
        keys.add(digits.substring(0, digits.length() - HASH_DIGITS));
      }
      assertEquals(count * width, in.remaining());
    }
    keys.sort(null);
    return keys.subList(0, Math.min(most, keys.size()));
  }

  private TopIterator blocks(Map<String, String> options) {
    TopIterator iterator = new TopIterator();
    iterator.init(Tables.visible(blocks), options, environment());
    return iterator;
  }

  private CellTopIterator cells(Map<String, String> options) {
    CellTopIterator iterator = new CellTopIterator();
    iterator.init(Tables.visible(events), options, Tables.ENVIRONMENT);
    return iterator;
  }

  @Test
  void bothLayoutsGiveTheSameEventsHoweverOftenTheScanIsTornDown() throws IOException {
    fill(60, "");
    int found = 0;
    for (int round = 0; round < 200; round++) {
      int[] orders = random.ints(1 + random.nextInt(3), 0, 2 * NAMES.length).toArray();
      byte[] filter = round % 3 == 0 ? TRUE : tree(2);
      int most = 1 + random.nextInt(round % 2 == 0 ? 12 : 600);
      Map<String, String> large = options(filter, program(orders), most, 1 << 20);
      List<String> all = keys(Tables.read(cells(options(filter, program(orders), 1 << 20, 1 << 30)), new Range()), 1 << 20);
      List<String> wanted = all.subList(0, Math.min(most, all.size()));
      assertEquals(wanted, keys(Tables.read(cells(large), new Range()), most));
      assertEquals(wanted, keys(Tables.read(blocks(large), new Range()), most));
      Map<String, String> small = options(filter, program(orders), most, 0);
      assertEquals(wanted, keys(Tables.readTorn(blocks(small), new Range()), most));
      assertEquals(wanted, keys(Tables.readTorn(cells(small), new Range()), most));
      found += wanted.size();
    }
    assertTrue(found > 1000, found + " events");
  }

  @Test
  void aKeyTellsItsFirstValue() {
    SortKey key = new SortKey(new byte[] {'s'});
    for (boolean descending : new boolean[] {false, true}) {
      for (byte[] value : new byte[][] {{}, {0}, {0, 0, -1, 0}, {-1, -1}, {1, 2, 3}, {0, -1}}) {
        key.clear();
        key.addValue(value, 0, value.length, descending);
        key.addNull();
        key.addTime(5);
        key.addHash(7);
        assertArrayEquals(value, SortKey.firstValue(key.toByteArray(), descending));
      }
      key.clear();
      key.addNull();
      assertNull(SortKey.firstValue(key.toByteArray(), descending));
    }
  }

  @Test
  void aDamagedProgramIsRefused() {
    byte[] program = program(1, 4);
    for (int length = 0; length < program.length; length++) {
      byte[] cut = Arrays.copyOf(program, length);
      assertThrows(IllegalArgumentException.class, () -> SortProgram.decode(cut));
    }
    assertThrows(IllegalArgumentException.class, () -> SortProgram.decode(Arrays.copyOf(program, program.length + 1)));
    assertThrows(IllegalArgumentException.class, () -> SortProgram.decode(new byte[1]));
  }
}

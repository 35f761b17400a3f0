package watchfloor.block;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static watchfloor.iterators.Programs.TRUE;
import static watchfloor.iterators.Programs.base64;
import static watchfloor.iterators.Programs.list;
import static watchfloor.iterators.Programs.scalar;
import static watchfloor.iterators.Programs.time;

import java.io.ByteArrayOutputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Base64;
import java.util.HashMap;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.apache.accumulo.core.data.Key;
import org.apache.accumulo.core.data.Range;
import org.apache.accumulo.core.data.Value;
import org.junit.jupiter.api.Test;
import watchfloor.block.epochs.SeenBlocks;
import watchfloor.cell.CellStatsIterator;
import watchfloor.iterators.EventOptions;
import watchfloor.iterators.StatsOptions;
import watchfloor.iterators.Tables;
import watchfloor.stats.StatsProgram;

class StatsIteratorTest extends DrawnBlocks {
  private static final String[] NAMES = {"host", "tags", "port", "bytes", "uri", "none", "ts"};
  private static final int EVENTS = 0;
  private static final int WITH = 1;
  private static final int WHERE = 2;
  private static final int VALUES = 3;
  private static final int SUM = 4;

  /** A program with keys by name, buckets of {@code width} µs if it is not 0, and the five states that are summed. */
  private static byte[] program(byte[] where, long width, int... keys) throws IOException {
    ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    DataOutputStream out = new DataOutputStream(bytes);
    out.writeShort(NAMES.length);
    for (String name : NAMES) {
      out.write(name.equals("tags") ? list(name) : name.equals("ts") ? time(name) : scalar(name));
    }
    out.writeShort(1);
    out.writeInt(where.length);
    out.write(where);
    out.writeByte(keys.length + (width > 0 ? 1 : 0));
    for (int key : keys) {
      out.writeByte(StatsProgram.KeyKind.FIELD.ordinal());
      out.writeShort(key);
      out.writeLong(0);
      out.writeShort(0);
    }
    if (width > 0) {
      out.writeByte(StatsProgram.KeyKind.BUCKET.ordinal());
      out.writeShort(NAMES.length - 1);
      out.writeLong(width);
      out.writeShort(0);
    }
    int[][] states = {{EVENTS, 0}, {WITH, 1}, {WHERE, 0}, {VALUES, 1}, {SUM, 3}};
    out.writeByte(states.length);
    for (int[] state : states) {
      out.writeByte(state[0]);
      out.writeShort(state[1]);
    }
    return bytes.toByteArray();
  }

  /** Adds an answer's groups: by the values of the keys, the sums of the states. */
  private static void merge(Value answer, int keys, Map<List<String>, List<Long>> into) {
    ByteBuffer in = ByteBuffer.wrap(answer.get()).order(ByteOrder.LITTLE_ENDIAN);
    int groups = in.getInt();
    in.getLong();
    List<List<String>> names = new ArrayList<>();
    for (int g = 0; g < groups; g++) {
      names.add(new ArrayList<>());
    }
    for (int k = 0; k < keys; k++) {
      int[] ends = new int[in.getInt() + 1];
      for (int i = 1; i < ends.length; i++) {
        ends[i] = in.getInt();
      }
      byte[] values = new byte[ends[ends.length - 1]];
      in.get(values);
      for (int g = 0; g < groups; g++) {
        int number = in.getInt();
        names.get(g).add(number < 0 ? "null" : HexFormat.of().formatHex(values, ends[number], ends[number + 1]));
      }
    }
    long[][] columns = new long[6][groups];
    for (long[] column : columns) {
      for (int g = 0; g < groups; g++) {
        column[g] = in.getLong();
      }
    }
    assertEquals(0, in.remaining());
    for (int g = 0; g < groups; g++) {
      long sum = (columns[4][g] << 32) + columns[5][g];
      List<Long> mine = List.of(columns[0][g], columns[1][g], columns[2][g], columns[3][g], sum);
      into.merge(names.get(g), mine, (a, b) -> {
        List<Long> both = new ArrayList<>();
        for (int i = 0; i < a.size(); i++) {
          both.add(a.get(i) + b.get(i));
        }
        return both;
      });
    }
  }

  private static Map<String, String> options(byte[] filter, byte[] program, long mostBytes) {
    Map<String, String> options = new HashMap<>();
    options.put(EventOptions.FILTER, base64(filter));
    options.put(StatsOptions.PROGRAM, base64(program));
    options.put(StatsOptions.MOST_BYTES, Long.toString(mostBytes));
    return options;
  }

  private static Map<List<String>, List<Long>> merged(TreeMap<Key, Value> answers, int keys) {
    Map<List<String>, List<Long>> groups = new HashMap<>();
    answers.values().forEach(answer -> merge(answer, keys, groups));
    return groups;
  }

  private StatsIterator blocks(Map<String, String> options) {
    StatsIterator iterator = new StatsIterator();
    iterator.init(Tables.visible(blocks), options, environment());
    return iterator;
  }

  private CellStatsIterator cells(Map<String, String> options) {
    CellStatsIterator iterator = new CellStatsIterator();
    iterator.init(Tables.visible(events), options, Tables.ENVIRONMENT);
    return iterator;
  }

  @Test
  void bothLayoutsGiveTheSameGroupsHoweverOftenTheScanIsTornDown() throws IOException {
    fill(60, "");
    int[][] keys = {{}, {0}, {1}, {2, 0}, {4, 1}, {5}, {0, 1, 2}};
    int found = 0;
    for (int round = 0; round < 200; round++) {
      int[] chosen = keys[round % keys.length];
      long width = round % 3 == 0 ? 60 * SECOND : 0;
      byte[] program = program(tree(1), width, chosen);
      byte[] filter = tree(2);
      int count = chosen.length + (width > 0 ? 1 : 0);
      Map<String, String> large = options(filter, program, 1 << 20);
      Map<List<String>, List<Long>> wanted = merged(Tables.read(cells(large), new Range()), count);
      assertEquals(wanted, merged(Tables.read(blocks(large), new Range()), count));
      Map<String, String> small = options(filter, program, 0);
      assertEquals(wanted, merged(Tables.readTorn(blocks(small), new Range()), count));
      assertEquals(wanted, merged(Tables.readTorn(cells(small), new Range()), count));
      found += wanted.size();
    }
    assertTrue(found > 1000, found + " groups");
  }

  @Test
  void groupsOverTheBoundAreSentEarly() throws IOException {
    fill(40, "");
    byte[] program = program(TRUE, 0, 4);
    TreeMap<Key, Value> all = Tables.read(blocks(options(TRUE, program, 1 << 30)), new Range());
    TreeMap<Key, Value> parts = Tables.read(blocks(options(TRUE, program, 1 << 14)), new Range());
    assertEquals(1, all.size());
    assertTrue(parts.size() > 2, parts.size() + " answers");
    assertEquals(merged(all, 1), merged(parts, 1));
  }

  @Test
  void blocksThatAQueryDoesNotSeeAreNotCounted() throws IOException {
    fill(20, "");
    byte[] program = program(TRUE, 0);
    Map<String, String> options = options(TRUE, program, 1 << 20);
    long all = merged(Tables.read(blocks(options), new Range()), 0).get(List.of()).get(0);
    byte[] dead = blocks.firstKey().getRowData().toArray();
    options.put(SeenBlocks.DIED, Base64.getEncoder().encodeToString(dead));
    long seen = merged(Tables.read(blocks(options), new Range()), 0).get(List.of()).get(0);
    assertTrue(seen < all);
    options.put(SeenBlocks.EPOCH, "0");
    options.put(SeenBlocks.ABORTED, "3,4");
    long ofIngest = 0;
    for (byte[] row : blocks.keySet().stream().map(key -> key.getRowData().toArray()).distinct().toList()) {
      ofIngest += row[16] < 0 ? 0 : 1;
    }
    assertTrue(ofIngest > 0);
    long committed = merged(Tables.read(blocks(options), new Range()), 0).get(List.of()).get(0);
    assertTrue(committed < seen, "blocks of epochs that are not committed count");
  }

  @Test
  void aDamagedProgramIsRefused() throws IOException {
    byte[] program = program(TRUE, 60 * SECOND, 0);
    for (int length = 0; length < program.length; length++) {
      byte[] cut = Arrays.copyOf(program, length);
      assertThrows(IllegalArgumentException.class, () -> StatsProgram.decode(cut));
    }
    assertThrows(
        IllegalArgumentException.class, () -> StatsProgram.decode(Arrays.copyOf(program, program.length + 1)));
  }
}

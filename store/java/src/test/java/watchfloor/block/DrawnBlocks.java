package watchfloor.block;

import static watchfloor.iterators.Programs.and;
import static watchfloor.iterators.Programs.base64;
import static watchfloor.iterators.Programs.eq;
import static watchfloor.iterators.Programs.exists;
import static watchfloor.iterators.Programs.in;
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
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Random;
import java.util.TreeMap;
import org.apache.accumulo.core.data.Key;
import org.apache.accumulo.core.data.Value;
import org.apache.accumulo.core.iterators.IteratorEnvironment;
import org.apache.accumulo.core.iterators.SortedKeyValueIterator;
import watchfloor.block.vector.Vectors;
import watchfloor.iterators.EventOptions;
import watchfloor.iterators.Tables;

/** Drawn events as a table of blocks, and the same ones in the cell layout; drawn filters over them. */
abstract class DrawnBlocks {
  static final String[] FIELDS = {"\1offset", "bytes", "host", "port", "tags", "ts", "uri"};
  static final long SECOND = 1_000_000;

  final Random random = new Random(3);
  final TreeMap<Key, Value> blocks = new TreeMap<>();
  /** The same events in the cell layout, which says what is right. */
  final TreeMap<Key, Value> events = new TreeMap<>();
  int written;

  private final Random environments = new Random(7);
  /** The ID of the table, which no other test has. */
  private final String table = Integer.toHexString(System.identityHashCode(this)) + "-" + System.nanoTime();

  /** That of a table whose zones are used, or not, and whose blocks are kept, or not: this makes no difference. */
  IteratorEnvironment environment(String... authorizations) {
    boolean isZoned = environments.nextBoolean();
    boolean isKept = environments.nextInt(3) > 0;
    return isKept ? Tables.scan(table, isZoned, authorizations) : isZoned ? Tables.ZONED : Tables.ENVIRONMENT;
  }

  static BlockIterator iterator(SortedKeyValueIterator<Key, Value> source, Map<String, String> options) {
    return iterator(source, options, Tables.ENVIRONMENT);
  }

  static BlockIterator iterator(
      SortedKeyValueIterator<Key, Value> source, Map<String, String> options, IteratorEnvironment environment) {
    BlockIterator iterator = new BlockIterator();
    assertTrue(iterator.validateOptions(options));
    iterator.init(source, options, environment);
    return iterator;
  }

  /** An event's values by field, encoded; a list's are in the cell layout's form. */
  static final class Event {
    final long micros;
    final Map<String, byte[]> values = new HashMap<>();
    List<byte[]> tags;

    Event(long micros) {
      this.micros = micros;
      values.put("ts", number(micros));
    }
  }

  Event draw(long micros, boolean allTagged) {
    Event event = new Event(micros);
    event.values.put("\1offset", number(written++));
    if (random.nextInt(5) > 0) {
      event.values.put("host", text(random.nextInt(9) == 0 ? "" : "h" + random.nextInt(12) + ".example"));
    }
    if (random.nextInt(3) > 0) {
      event.values.put("bytes", number(random.nextInt(2000) - 1000));
    }
    event.values.put("port", u16(random.nextInt(4) == 0 ? 443 : random.nextInt(65536)));
    event.values.put("uri", text("/" + random.nextInt(50) + "x".repeat(random.nextInt(90))));
    if (allTagged || random.nextInt(3) > 0) {
      event.tags = new ArrayList<>();
      for (int i = random.nextInt(4); i > 0; i--) {
        event.tags.add(random.nextInt(5) == 0 ? null : text("t" + random.nextInt(6)));
      }
    }
    return event;
  }

  static byte[] row(int shard, long newest, long oldest, long id) {
    ByteBuffer row = ByteBuffer.allocate(24).put(text(String.format("%04d", shard))).putLong(Long.MAX_VALUE - newest);
    return row.putInt((int) ((newest - oldest + SECOND - 1) / SECOND)).putLong(id).array();
  }

  static void put(TreeMap<Key, Value> table, byte[] row, String qualifier, byte[] value, String label) {
    Tables.cell(table, row, qualifier, value, label);
  }

  /** Adds a block of events and returns its row. */
  byte[] block(int shard, long newest, List<Event> drawn, String hostLabel) {
    drawn.sort((a, b) -> Long.compare(b.micros, a.micros));
    byte[] row = row(shard, newest, drawn.get(drawn.size() - 1).micros, random.nextLong());
    int codec = random.nextInt(3);
    for (String field : FIELDS) {
      String label = field.equals("host") ? hostLabel : "";
      List<byte[]> values = new ArrayList<>();
      List<List<byte[]>> lists = new ArrayList<>();
      for (Event event : drawn) {
        values.add(event.values.get(field));
        lists.add(event.tags);
        if (field.equals("tags") ? event.tags != null : event.values.containsKey(field) && !field.equals("ts")) {
          byte[] eventRow = ByteBuffer.allocate(20).put(row, 0, 4).putLong(Long.MAX_VALUE - event.micros).array();
          System.arraycopy(event.values.get("\1offset"), 0, eventRow, 12, 8);
          byte[] cell = field.equals("tags") ? list(event.tags.toArray(new byte[0][])) : event.values.get(field);
          put(events, eventRow, field, cell, label);
        }
      }
      boolean missing = (field.equals("tags") ? lists : values).stream().allMatch(Objects::isNull);
      if (!missing) {
        byte[] vector = vector(field, codec, values, lists);
        put(blocks, row, field, vector, label);
        List<byte[]> filtered = environments.nextBoolean() ? field.equals("tags") ? Vectors.elements(lists) : values : null;
        blocks.put(Tables.key(row, "zone", text(field), label), new Value(Vectors.zone(vector, filtered)));
      }
    }
    return row;
  }

  byte[] vector(String field, int codec, List<byte[]> values, List<List<byte[]>> lists) {
    switch (field) {
      case "host":
        return Vectors.dictionary(codec, 1 << random.nextInt(3), values);
      case "uri":
        return random.nextBoolean() ? Vectors.plain(codec, values) : Vectors.dictionary(codec, 2, values);
      case "port":
        return Vectors.numbers(codec, Vectors.BASE, 2, 2, values);
      case "tags":
        List<byte[]> elements = Vectors.elements(lists);
        boolean plain = random.nextBoolean();
        return Vectors.list(
            codec, 1, lists, plain ? Vectors.plain(0, elements) : Vectors.dictionary(0, 1, elements));
      case "bytes":
        return Vectors.numbers(codec, Vectors.BASE, 8, 2, values);
      default:
        return Vectors.numbers(codec, Vectors.DIFFERENCES, 8, 8, values);
    }
  }

  void fill(int count, String hostLabel) {
    for (int b = 0; b < count; b++) {
      long newest = Tables.NOW - b * 100 * SECOND;
      List<Event> drawn = new ArrayList<>();
      boolean allTagged = random.nextBoolean();
      for (int i = random.nextInt(b % 5 == 0 ? 1 : 60); i >= 0; i--) {
        drawn.add(draw(newest - (i == 0 ? 0 : (long) (random.nextDouble() * 150 * SECOND)), allTagged));
      }
      block(b % 2, newest, drawn, hostLabel);
    }
  }
  byte[] condition(byte[] field, byte[]... values) {
    byte[] one = values[random.nextInt(values.length)];
    byte[] other = values[random.nextInt(values.length)];
    switch (random.nextInt(4)) {
      case 0:
        return eq(field, one);
      case 1:
        byte[][] some = new byte[random.nextInt(12)][];
        Arrays.setAll(some, i -> values[random.nextInt(values.length)]);
        return in(field, some);
      case 2:
        return exists(field);
      default:
        String brackets = (random.nextBoolean() ? "[" : "(") + (random.nextBoolean() ? "]" : ")");
        return range(field, brackets, random.nextInt(4) == 0 ? null : one, random.nextInt(4) == 0 ? null : other);
    }
  }

  byte[] leaf() {
    switch (random.nextInt(8)) {
      case 0:
        byte[][] hosts = new byte[14][];
        Arrays.setAll(hosts, i -> text(i == 0 ? "" : i == 1 ? "h1" : "h" + i + ".example"));
        return condition(scalar("host"), hosts);
      case 1:
        String[] patterns = {"[1" + random.nextInt(9) + "][0-9.x]", "1", "h?1.?\\.ex(a|b)", "(?s)\\A.*xx.*\\z", "/2x*"};
        return regex(scalar(random.nextBoolean() ? "host" : "uri"), patterns[random.nextInt(5)], false);
      case 2:
        byte[] odd = text("\u007f");
        return condition(scalar("bytes"), number(-2000), number(-500), number(0), number(1), number(700), odd);
      case 3:
        byte[] longer = text("\u0001\u0002\u0003");
        return condition(scalar("port"), u16(0), u16(443), u16(444), u16(40_000), new byte[] {1}, longer);
      case 4:
        return random.nextInt(3) == 0
            ? regex(list("tags"), "[12]$", true)
            : condition(list("tags"), text("t0"), text("t2"), text("t5"), text("u"), text(""));
      case 5:
        long low = Tables.NOW - random.nextInt(2500) * SECOND;
        return condition(time("ts"), number(low), number(low + 90 * SECOND), number(Tables.NOW), number(0));
      case 6:
        return condition(scalar("uri"), text("/1"), text("/20"), text("/3xxxx"), text("/4" + "x".repeat(80)));
      default:
        return condition(scalar(random.nextBoolean() ? "none" : "\1offset"), number(3), number(40), number(500));
    }
  }

  byte[] tree(int depth) {
    if (depth == 0 || random.nextInt(3) == 0) {
      return leaf();
    }
    byte[][] children = new byte[random.nextInt(4)][];
    Arrays.setAll(children, i -> tree(depth - 1));
    switch (random.nextInt(3)) {
      case 0:
        return and(children);
      case 1:
        return or(children);
      default:
        return not(tree(depth - 1));
    }
  }

  static Map<String, String> options(byte[] program, String... columns) {
    Map<String, String> options = new HashMap<>();
    if (program != null) {
      options.put(EventOptions.FILTER, base64(program));
    }
    if (columns.length > 0) {
      options.put(EventOptions.COLUMNS, String.join(EventOptions.SEPARATOR, columns));
    }
    options.put(EventOptions.TIME, "ts");
    return options;
  }
}

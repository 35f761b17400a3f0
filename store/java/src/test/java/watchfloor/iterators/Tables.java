package watchfloor.iterators;

import java.io.IOException;
import java.lang.reflect.Proxy;
import java.nio.ByteBuffer;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.apache.accumulo.core.client.PluginEnvironment;
import org.apache.accumulo.core.data.ByteSequence;
import org.apache.accumulo.core.data.Key;
import org.apache.accumulo.core.data.Range;
import org.apache.accumulo.core.data.TableId;
import org.apache.accumulo.core.data.Value;
import org.apache.accumulo.core.iterators.IteratorEnvironment;
import org.apache.accumulo.core.iterators.IteratorUtil.IteratorScope;
import org.apache.accumulo.core.iterators.SortedKeyValueIterator;
import org.apache.accumulo.core.iterators.WrappingIterator;
import org.apache.accumulo.core.iteratorsImpl.system.ColumnFamilySkippingIterator;
import org.apache.accumulo.core.iteratorsImpl.system.SortedMapIterator;
import org.apache.accumulo.core.iteratorsImpl.system.VisibilityFilter;
import org.apache.accumulo.core.security.Authorizations;

/** A table in memory and the ways a tablet server reads it. */
public final class Tables {
  public static final long NOW = 1_456_000_000_000_000L;

  /** The environment of a table whose blocks have no zones, and of which nothing is kept. */
  public static final IteratorEnvironment ENVIRONMENT = environment(null, IteratorScope.majc, "1");
  /** The environment of a table whose blocks all have zones. */
  public static final IteratorEnvironment ZONED = environment("true", IteratorScope.majc, "1");

  private Tables() {}

  /** Returns the environment of a scan of a table. What is read may be kept for further scans of a table of that ID. */
  public static IteratorEnvironment scan(String table, boolean isZoned, String... authorizations) {
    return environment(isZoned ? "true" : null, IteratorScope.scan, table, authorizations);
  }

  /** Ours ask whether blocks have zones and what scan it is; the table below asks whether it is to give a sample. */
  private static IteratorEnvironment environment(
      String zones, IteratorScope scope, String table, String... authorizations) {
    Map<String, Object> custom = new HashMap<>();
    custom.put("getTableCustom", zones);
    Object configuration = answering(PluginEnvironment.Configuration.class, custom);
    Object plugin = answering(PluginEnvironment.class, Map.of("getConfiguration", configuration));
    Map<String, Object> answers =
        Map.of(
            "isSamplingEnabled", false,
            "getTableId", TableId.of(table),
            "getPluginEnv", plugin,
            "getIteratorScope", scope,
            "getAuthorizations", new Authorizations(authorizations));
    return answering(IteratorEnvironment.class, answers);
  }

  private static <T> T answering(Class<T> type, Map<String, Object> answers) {
    return type.cast(
        Proxy.newProxyInstance(
            Tables.class.getClassLoader(),
            new Class<?>[] {type},
            (proxy, method, arguments) -> {
              if (answers.containsKey(method.getName())) {
                return answers.get(method.getName());
              }
              throw new UnsupportedOperationException(method.getName());
            }));
  }

  public static byte[] eventRow(int shard, long micros, long hash) {
    ByteBuffer row = ByteBuffer.allocate(20).put(Programs.text(String.format("%04d", shard)));
    return row.putLong(Long.MAX_VALUE - micros).putLong(hash).array();
  }

  public static Key key(byte[] row, String family, byte[] qualifier, String visibility) {
    return new Key(row, Programs.text(family), qualifier, Programs.text(visibility), 7L);
  }

  public static void cell(Map<Key, Value> table, byte[] row, String field, byte[] value, String visibility) {
    table.put(key(row, "", Programs.text(field), visibility), new Value(value));
  }

  /** A table in memory does not know families. */
  private static final class Unfiltered extends WrappingIterator {
    Unfiltered(SortedKeyValueIterator<Key, Value> source) {
      setSource(source);
    }

    @Override
    public void seek(Range range, Collection<ByteSequence> families, boolean inclusive) throws IOException {
      super.seek(range, List.of(), false);
    }

    @Override
    public SortedKeyValueIterator<Key, Value> deepCopy(IteratorEnvironment environment) {
      return new Unfiltered(getSource().deepCopy(environment));
    }
  }

  /** What a tablet server puts below a scan's iterators. */
  public static SortedKeyValueIterator<Key, Value> visible(TreeMap<Key, Value> table, String... authorizations) {
    SortedKeyValueIterator<Key, Value> families = new ColumnFamilySkippingIterator(new Unfiltered(new SortedMapIterator(table)));
    return VisibilityFilter.wrap(families, new Authorizations(authorizations), new byte[0]);
  }

  /** Reads a range in one pass. */
  public static TreeMap<Key, Value> read(SortedKeyValueIterator<Key, Value> iterator, Range range) throws IOException {
    TreeMap<Key, Value> out = new TreeMap<>();
    iterator.seek(range, List.of(), false);
    Key last = null;
    while (iterator.hasTop()) {
      Key key = new Key(iterator.getTopKey());
      if (last != null && last.compareTo(key) >= 0) {
        throw new AssertionError("out of order: " + last + " before " + key);
      }
      last = key;
      if (!Heartbeat.is(iterator.getTopValue())) {
        out.put(key, new Value(iterator.getTopValue()));
      }
      iterator.next();
    }
    return out;
  }

  /** Reads a range as a scan does that is torn down after every answer: each seek begins after the last key. */
  public static TreeMap<Key, Value> readTorn(SortedKeyValueIterator<Key, Value> iterator, Range range) throws IOException {
    TreeMap<Key, Value> out = new TreeMap<>();
    Range left = range;
    while (true) {
      iterator.seek(left, List.of(), false);
      if (!iterator.hasTop()) {
        return out;
      }
      Key key = new Key(iterator.getTopKey());
      Value answer = new Value(iterator.getTopValue());
      if (!Heartbeat.is(answer) && out.put(key, answer) != null) {
        throw new AssertionError("answered twice: " + key);
      }
      if (range.getEndKey() != null && key.compareTo(range.getEndKey()) >= 0) {
        return out;
      }
      left = new Range(key, false, range.getEndKey(), range.isEndKeyInclusive());
    }
  }
}

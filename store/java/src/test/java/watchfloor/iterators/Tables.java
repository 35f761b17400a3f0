package watchfloor.iterators;

import java.io.IOException;
import java.lang.reflect.Proxy;
import java.nio.ByteBuffer;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.apache.accumulo.core.data.Key;
import org.apache.accumulo.core.data.Range;
import org.apache.accumulo.core.data.Value;
import org.apache.accumulo.core.iterators.IteratorEnvironment;
import org.apache.accumulo.core.iterators.SortedKeyValueIterator;
import org.apache.accumulo.core.iteratorsImpl.system.SortedMapIterator;
import org.apache.accumulo.core.iteratorsImpl.system.VisibilityFilter;
import org.apache.accumulo.core.security.Authorizations;

/** A table in memory and the ways a tablet server reads it. */
public final class Tables {
  public static final long NOW = 1_456_000_000_000_000L;

  /** Ours ask nothing of their environment; the table below asks only whether it is to give a sample. */
  public static final IteratorEnvironment ENVIRONMENT =
      (IteratorEnvironment)
          Proxy.newProxyInstance(
              Tables.class.getClassLoader(),
              new Class<?>[] {IteratorEnvironment.class},
              (proxy, method, arguments) -> {
                if (method.getName().equals("isSamplingEnabled")) {
                  return false;
                }
                throw new UnsupportedOperationException(method.getName());
              });

  private Tables() {}

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

  /** What a tablet server puts below a scan's iterators. */
  public static SortedKeyValueIterator<Key, Value> visible(TreeMap<Key, Value> table, String... authorizations) {
    return VisibilityFilter.wrap(new SortedMapIterator(table), new Authorizations(authorizations), new byte[0]);
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

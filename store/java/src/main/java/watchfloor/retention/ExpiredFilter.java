package watchfloor.retention;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.Collection;
import java.util.HashMap;
import java.util.Map;
import org.apache.accumulo.core.data.ByteSequence;
import org.apache.accumulo.core.data.Key;
import org.apache.accumulo.core.data.Range;
import org.apache.accumulo.core.data.Value;
import org.apache.accumulo.core.iterators.Filter;
import org.apache.accumulo.core.iterators.IteratorEnvironment;
import org.apache.accumulo.core.iterators.SortedKeyValueIterator;
import org.apache.hadoop.io.Text;

/**
 * Drops the entries of a table whose events are all older than a time. Compactions use it.
 *
 * <p>An entry that holds younger events too, such as a block, stays whole. The expired events of a shard are the last of
 * its rows: they are passed over by one seek, unread.
 */
public final class ExpiredFilter extends Filter {
  /** Option: {@code events}, {@code index}, {@code counts} or {@code sightings}: the table, which says where times are. */
  public static final String TABLE = "table";
  /** Option: µs since 1970 UTC of the oldest event that is kept. */
  public static final String KEPT_FROM = "from";
  /** Begin of the options of sightings: the rest is a source's name, the value as of {@code from}. */
  public static final String OF_SOURCE = "of:";

  private static final int SHARD = 4;
  private static final Range EMPTY = new Range(new Text(new byte[] {(byte) 0xff}), true, null, true);
  private static final long MINUTE = 60_000_000L;
  private static final long HOUR = 60 * MINUTE;
  private static final long DAY = 24 * HOUR;

  private String table;
  private long keptFrom;
  private Map<String, Long> keptFromBySource;
  private Range range;
  private Collection<ByteSequence> families;
  private boolean inclusive;

  @Override
  public void init(SortedKeyValueIterator<Key, Value> source, Map<String, String> options, IteratorEnvironment env)
      throws IOException {
    super.init(source, options, env);
    table = options.get(TABLE);
    keptFrom = Long.parseLong(options.getOrDefault(KEPT_FROM, "0"));
    keptFromBySource = new HashMap<>();
    options.forEach(
        (name, value) -> {
          if (name.startsWith(OF_SOURCE)) {
            keptFromBySource.put(name.substring(OF_SOURCE.length()), Long.parseLong(value));
          }
        });
  }

  @Override
  public SortedKeyValueIterator<Key, Value> deepCopy(IteratorEnvironment env) {
    ExpiredFilter copy = (ExpiredFilter) super.deepCopy(env);
    copy.table = table;
    copy.keptFrom = keptFrom;
    copy.keptFromBySource = keptFromBySource;
    return copy;
  }

  @Override
  public void seek(Range range, Collection<ByteSequence> families, boolean inclusive) throws IOException {
    this.range = range;
    this.families = families;
    this.inclusive = inclusive;
    super.seek(range, families, inclusive);
  }

  @Override
  protected void findTop() {
    if (!table.equals("events")) {
      super.findTop();
      return;
    }
    SortedKeyValueIterator<Key, Value> source = getSource();
    try {
      while (source.hasTop() && !accept(source.getTopKey(), source.getTopValue())) {
        Range rest = range.clip(new Range(followingShard(source.getTopKey()), true, null, false), true);
        // The end of the range is in this shard: an empty range has no entry.
        source.seek(rest == null ? EMPTY : rest, families, inclusive);
      }
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** Returns the least row after all rows of a row's shard. Shards are decimal digits, so a colon sorts after them. */
  private static Text followingShard(Key key) {
    byte[] shard = Arrays.copyOf(key.getRowData().toArray(), SHARD);
    shard[SHARD - 1]++;
    return new Text(shard);
  }

  @Override
  public boolean accept(Key key, Value value) {
    switch (table) {
      case "events":
        return isKept(key.getRowData(), SHARD, 0, keptFrom);
      case "index":
        return isKept(key.getColumnQualifierData(), 0, 0, keptFrom);
      case "counts":
        return isKept(key.getColumnQualifierData(), 0, bucketWidth(key.getColumnFamilyData()), keptFrom);
      case "sightings":
        return isKeptSighting(key);
      default:
        throw new IllegalArgumentException("no such table: " + table);
    }
  }

  private boolean isKeptSighting(Key key) {
    ByteSequence row = key.getRowData();
    if (row.length() <= SHARD || row.byteAt(SHARD) != 0) {
      return true; // A record of an item's sightings has no time.
    }
    ByteSequence qualifier = key.getColumnQualifierData();
    int end = Long.BYTES;
    while (end < qualifier.length() && qualifier.byteAt(end) != 0) {
      end++;
    }
    if (end >= qualifier.length()) {
      return true;
    }
    byte[] name = qualifier.subSequence(Long.BYTES, end).toArray();
    Long from = keptFromBySource.get(new String(name, StandardCharsets.UTF_8));
    // Earlier versions wrote the start of the newest event's hour.
    return from == null || isKept(qualifier, 0, HOUR, from);
  }

  /** Returns whether a reversed time, or the bucket of a width that begins there, reaches a time. */
  private static boolean isKept(ByteSequence bytes, int at, long width, long from) {
    if (bytes.length() < at + Long.BYTES) {
      return true;
    }
    long reversed = 0;
    for (int i = at; i < at + Long.BYTES; i++) {
      reversed = reversed << 8 | bytes.byteAt(i) & 0xff;
    }
    long time = Long.MAX_VALUE - reversed;
    return width == 0 ? time >= from : time > from - width;
  }

  private static long bucketWidth(ByteSequence family) {
    switch (family.length() == 1 ? family.byteAt(0) : 0) {
      case 'm':
        return MINUTE;
      case 'h':
      case 's':
        return HOUR;
      default:
        return DAY;
    }
  }
}

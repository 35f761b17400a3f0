package watchfloor.bridge.scan;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import org.apache.accumulo.core.client.BatchScanner;
import org.apache.accumulo.core.client.IteratorSetting;
import org.apache.accumulo.core.client.Scanner;
import org.apache.accumulo.core.client.ScannerBase;
import org.apache.accumulo.core.data.ByteSequence;
import org.apache.accumulo.core.data.Key;
import org.apache.accumulo.core.data.Range;
import org.apache.accumulo.core.data.Value;
import org.apache.accumulo.core.security.Authorizations;
import org.apache.arrow.vector.FieldVector;
import watchfloor.bridge.Connection;
import watchfloor.bridge.columns.ArrowMemory;
import watchfloor.bridge.columns.ByteBuilder;
import watchfloor.bridge.columns.ColumnBuilder;
import watchfloor.iterators.Heartbeat;
import watchfloor.iterators.EventOptions;
import watchfloor.iterators.filter.FilterProgram;

/**
 * Reads the events that satisfy a filter as record batches, with the binary column {@code row} and a nullable column
 * for each wanted field.
 *
 * <p>In an ordered scan each range belongs to one shard and is read by a thread of its own. The ranges are merged by
 * the part of the row ID after the shard, so that answers come newest first over all shards. Otherwise a BatchScanner
 * reads the ranges, and answers come in any order.
 */
public abstract class EventStream extends ScanStream {
  private static final int PRIORITY = 100;
  private static final int SHARD_LENGTH = 4;

  private final Authorizations authorizations;
  private final IteratorSetting filter;
  /** The names and types of the wanted fields. */
  protected final String[] fields;
  private final String[] types;
  /**
   * The builders of the columns. Each batch has new ones: their arrays would stay on the heap for as long as the stream
   * is not read.
   */
  protected ByteBuilder row;
  protected ColumnBuilder[] columns;

  /**
   * Starts the scan.
   *
   * @param iterator the class of the server's iterator, which answers with events
   */
  protected EventStream(Connection connection, ScanRequest request, Class<?> iterator) {
    super(connection, request.text("table"), request.number("first_rows"), request.number("batch_rows"));
    List<Range> ranges = request.ranges();
    int firstRows = request.number("first_rows");
    int batchRows = request.number("batch_rows");
    int requests = request.number("requests");
    authorizations = request.authorizations();
    fields = request.texts("columns")[0];
    types = request.texts("columns")[1];
    startColumns();
    filter = setting(request, iterator);
    List<Feed.Reader> readers = new ArrayList<>();
    if (request.flag("ordered")) {
      ranges.forEach(range -> readers.add(feed -> read(feed, range, firstRows, batchRows)));
    } else if (!ranges.isEmpty()) {
      readers.add(
          feed -> {
            BatchScanner scanner = connection.client().createBatchScanner(table, authorizations, connection.threads(requests));
            scanner.setRanges(ranges);
            feed.drain(Scans.prepared(connection, scanner, List.of(filter)), Long.MAX_VALUE);
          });
    }
    start(readers, NEWEST_FIRST);
  }

  private static final Comparator<Key> NEWEST_FIRST =
      (a, b) -> {
        ByteSequence x = a.getRowData();
        ByteSequence y = b.getRowData();
        int order = compareAfterShard(x, y);
        return order != 0 ? order : x.compareTo(y);
      };

  private static int compareAfterShard(ByteSequence x, ByteSequence y) {
    return Arrays.compareUnsigned(
        x.getBackingArray(),
        x.offset() + Math.min(SHARD_LENGTH, x.length()),
        x.offset() + x.length(),
        y.getBackingArray(),
        y.offset() + Math.min(SHARD_LENGTH, y.length()),
        y.offset() + y.length());
  }

  private IteratorSetting setting(ScanRequest request, Class<?> iterator) {
    Map<String, String> options = request.options("server");
    if (options.containsKey(EventOptions.FILTER)) {
      FilterProgram.check(EventOptions.filter(options));
    }
    if (fields.length > 0) {
      options.put(EventOptions.COLUMNS, String.join(EventOptions.SEPARATOR, fields));
    }
    return new IteratorSetting(PRIORITY, "events", iterator.getName(), options);
  }

  /** Reads a range: first a few entries, so that the first rows are out at once, then the rest in large batches. */
  private void read(Feed feed, Range range, int first, int rest) throws Exception {
    if (first >= rest) {
      feed.drain(scanner(range, rest), Long.MAX_VALUE);
      return;
    }
    Key last = feed.drain(scanner(range, first), first);
    if (last != null) {
      feed.drain(
          scanner(new Range(last, false, range.getEndKey(), range.isEndKeyInclusive()), rest), Long.MAX_VALUE);
    }
  }

  private ScannerBase scanner(Range range, int batchSize) throws Exception {
    Scanner scanner = connection.client().createScanner(table, authorizations);
    scanner.setRange(range);
    scanner.setBatchSize(batchSize);
    return Scans.prepared(connection, scanner, List.of(filter));
  }

  @Override
  final boolean isBeat(Value answer) {
    return Heartbeat.is(answer);
  }

  private void startColumns() {
    row = new ByteBuilder("row");
    columns = ColumnBuilder.all(fields, types);
  }

  @Override
  protected final long bytes() {
    long bytes = row.bytes();
    for (ColumnBuilder column : columns) {
      bytes += column.bytes();
    }
    return bytes;
  }

  @Override
  protected List<FieldVector> take(int count) {
    List<FieldVector> vectors = new ArrayList<>();
    vectors.add(row.take(count, ArrowMemory.ALLOCATOR));
    for (ColumnBuilder column : columns) {
      vectors.add(column.take(count, ArrowMemory.ALLOCATOR));
    }
    startColumns();
    return vectors;
  }
}

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
import watchfloor.bridge.NewestBlocks;
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
  /** A batch beyond the limit has this share of its rows. */
  private static final int SHARE_BEYOND = 4;
  private static final int NO_LIMIT = -1;
  /** The events with which a first batch is full, even if more answers are at hand. */
  private static final int FIRST_EVENTS = 512;
  /** The most ranges whose first answers are read together. */
  private static final int MOST_TOGETHER = 8;

  private final Authorizations authorizations;
  private final IteratorSetting filter;
  /** The names and types of the wanted fields. */
  protected final String[] fields;
  private final String[] types;
  private final int requestRows;
  private final int limit;
  /** The time (µs) before which all wanted events are. */
  private final long until;
  /** Null if the ranges' first answers are not read together. */
  private FirstRound firstRound;
  /** The events in the batches that were handed over, and of these the ones that come before all others. */
  private long handedOver;
  private long released;
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
    int requests = request.number("requests");
    requestRows = request.number("request_rows", request.number("batch_rows"));
    limit = request.number("limit", NO_LIMIT);
    until = request.time("until");
    authorizations = request.authorizations();
    fields = request.texts("columns")[0];
    types = request.texts("columns")[1];
    startColumns();
    filter = setting(request, iterator);
    if (!request.flag("ordered")) {
      Feed.Reader reader = feed -> feed.drain(batchScanner(ranges, requests, filter), Long.MAX_VALUE);
      start(ranges.isEmpty() ? List.of() : List.of(reader), NEWEST_FIRST);
      return;
    }
    Demand demand = new Demand(isLimited() ? limit : null, ranges.size());
    List<RangeReader> readers = new ArrayList<>();
    ranges.forEach(range -> readers.add(new RangeReader(this, demand, range, firstRows, requestRows)));
    if (firstRows == 1 && ranges.size() > 1 && ranges.size() <= MOST_TOGETHER && heedsAnswers()) {
      firstRound = new FirstRound(this, ranges, readers, makeFeeds(ranges.size(), NEWEST_FIRST));
    } else {
      start(List.copyOf(readers), NEWEST_FIRST);
    }
  }

  @Override
  final void beginLaterBatch() {
    if (firstRound != null) {
      firstRound.readOn();
    }
  }

  @Override
  final void stop() {
    if (firstRound != null) {
      firstRound.close();
    }
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

  /** Returns the number of events in an answer. Several threads may call it. */
  protected int countEvents(Value answer) {
    return 1;
  }

  /** Returns whether an answer only says that what has its key comes next, which was not read. */
  protected boolean isPostponed(Key key, Value answer) {
    return false;
  }

  /** Returns a key before which no answer of the same range comes after this one; null if none is known. */
  protected Key following(Value answer) {
    return null;
  }

  /** Returns the time of an answer, in microseconds, by its key. A layout that knows what follows an answer has it. */
  protected long time(Key key) {
    throw new UnsupportedOperationException();
  }

  /** Returns the microseconds that the events of an answer span, by its key; of the same layouts. */
  protected long span(Key key) {
    throw new UnsupportedOperationException();
  }

  @Override
  protected final boolean isFirstFull(int entries, int firstRows) {
    if (entries < firstRows) {
      return false;
    }
    int events = columnRows(entries);
    if (!isLimited()) {
      return events >= FIRST_EVENTS || countReleased(nextKey(), events) > 0;
    }
    // What is at hand of all ranges is often enough: one batch costs less than two.
    return events >= FIRST_EVENTS || hasNewest(events, limit);
  }

  @Override
  protected final boolean isLaterFull(int entries, int batchRows) {
    int events = columnRows(entries);
    boolean isBeyond = isLimited() && released >= limit;
    int full = isBeyond ? Math.min(batchRows, Math.max(1, limit / SHARE_BEYOND)) : batchRows;
    return events >= full || (!isBeyond && hasNewest(events, limit - released));
  }

  /** Returns whether with the batch so many further events are handed over that come before all others. */
  private boolean hasNewest(int events, long number) {
    return isLimited() && number <= handedOver - released + events && countReleased(nextKey(), events) >= number;
  }

  /**
   * Returns how many of the batch's events, and of those that were handed over and may still come after others, come
   * before all entries that begin with a key; null is any key.
   */
  protected int countReleased(Key next, int events) {
    return events;
  }

  /** Returns whether the server's iterator heeds {@link EventOptions#ANSWERS}. */
  protected boolean heedsAnswers() {
    return false;
  }

  /** Opens a scanner of a range, which ends after so many answers if it is bounded. */
  final ScannerBase scanner(Range range, int answers, boolean isBounded) throws Exception {
    Scanner scanner = connection.client().createScanner(table, authorizations);
    scanner.setRange(range);
    scanner.setBatchSize(answers);
    IteratorSetting iterator = filter;
    if (isBounded && heedsAnswers()) {
      // A scan that ends before its batch is full needs no session on the server, and no request that closes it.
      iterator = bounded(answers);
      scanner.setBatchSize(answers + 1);
    }
    return Scans.prepared(connection, scanner, List.of(iterator));
  }

  /**
   * Opens a scanner of the first answer of each range. For a limit only those blocks are read that may have events as new
   * as those of the newest block.
   */
  final ScannerBase firstScanner(List<Range> ranges, int requests) throws Exception {
    IteratorSetting iterator = bounded(1);
    Long since = isLimited() ? connection.newestBlocks().findOldest(view(), until) : null;
    if (since != null) {
      iterator.addOption(EventOptions.NEW_SINCE, since.toString());
    }
    return batchScanner(ranges, requests, iterator);
  }

  /** Notes the newest of the blocks at which the ranges begin, by its key. */
  final void noteNewest(Key key) {
    connection.newestBlocks().note(view(), until, time(key), span(key));
  }

  private NewestBlocks.View view() {
    return new NewestBlocks.View(table, authorizations);
  }

  final boolean isLimited() {
    return limit != NO_LIMIT;
  }

  /** Returns the number of events that are read for the limit. */
  final long wantedEvents() {
    return Demand.withSpare(limit);
  }

  private IteratorSetting bounded(int answers) {
    IteratorSetting iterator =
        new IteratorSetting(PRIORITY, filter.getName(), filter.getIteratorClass(), filter.getOptions());
    iterator.addOption(EventOptions.ANSWERS, Integer.toString(answers));
    return iterator;
  }

  private ScannerBase batchScanner(List<Range> ranges, int requests, IteratorSetting iterator) throws Exception {
    BatchScanner scanner = connection.client().createBatchScanner(table, authorizations, connection.threads(requests));
    scanner.setRanges(ranges);
    return Scans.prepared(connection, scanner, List.of(iterator));
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
      if (column != null) {
        vectors.add(column.take(count, ArrowMemory.ALLOCATOR));
      }
    }
    startColumns();
    released += countReleased(nextKey(), count);
    handedOver += count;
    return vectors;
  }
}

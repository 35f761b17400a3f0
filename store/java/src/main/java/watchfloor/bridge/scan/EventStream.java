package watchfloor.bridge.scan;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Map.Entry;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
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

  /** The factor between the rows of a request and those of the next. */
  private static final int GROWTH = 8;
  /** The share of the limit that is read in addition, because not all of what is read may be handed out at once. */
  private static final double SPARE = 0.25;
  /** A batch beyond the limit has this share of its rows. */
  private static final int SHARE_BEYOND = 4;
  private static final int NO_LIMIT = -1;
  /** The events with which a first batch is full if a limited number is wanted, even if more answers are at hand. */
  private static final int FIRST_EVENTS = 512;
  /** The most ranges whose first answers are read together, and how many a request is for. */
  private static final int MOST_TOGETHER = 8;
  private static final int RANGES_TOGETHER = 2;

  private final Authorizations authorizations;
  private final IteratorSetting filter;
  /** The names and types of the wanted fields. */
  protected final String[] fields;
  private final String[] types;
  private final int requestRows;
  private final int limit;
  /** The events that the feeds should still read ahead; of no use without a limit. */
  private final AtomicLong wanted;
  /** The ranges of which no answer has come yet. */
  private final AtomicInteger unanswered = new AtomicInteger();
  /** Null if the ranges' first answers are not read together. */
  private FirstRound firstRound;
  /** The events in the batches that were handed over. */
  private long handedOver;
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
    wanted = new AtomicLong(Math.round(limit * (1 + SPARE)));
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
    unanswered.set(ranges.size());
    List<RangeReader> readers = new ArrayList<>();
    ranges.forEach(range -> readers.add(new RangeReader(range, firstRows, ranges.size())));
    if (firstRows == 1 && ranges.size() > 1 && ranges.size() <= MOST_TOGETHER && heedsAnswers()) {
      List<Feed> feeds = makeFeeds(ranges.size(), NEWEST_FIRST);
      int together = Math.max(1, ranges.size() / RANGES_TOGETHER);
      firstRound =
          new FirstRound(
              ranges,
              () -> batchScanner(ranges, together, bounded(1)),
              answers -> distribute(answers, feeds, readers),
              feeds);
    } else {
      start(List.copyOf(readers), NEWEST_FIRST);
    }
  }

  /** Gives each feed the first answer of its range, and lets those read on at once that are likely to be needed. */
  private void distribute(List<Entry<Key, Value>> answers, List<Feed> feeds, List<RangeReader> readers) {
    for (int i = 0; i < feeds.size(); i++) {
      readers.get(i).count(answers.get(i));
    }
    for (int i = 0; i < feeds.size(); i++) {
      Entry<Key, Value> answer = answers.get(i);
      if (answer == null) {
        feeds.get(i).end(null);
        continue;
      }
      boolean isMoreWanted = readers.get(i).wantsMore();
      feeds.get(i).take(answer.getKey(), answer.getValue(), isMoreWanted ? null : readers.get(i));
      if (isMoreWanted) {
        feeds.get(i).begin(readers.get(i));
      }
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

  /**
   * Reads a range by requests of growing size, so that the first rows are out at once and many rows cost few requests.
   * With a limit a request is no larger than its range's part of the events still wanted, by those of its answers so
   * far, and the range is not read on when all ranges together have as many as are wanted. Those that have not answered
   * yet are taken to have as many events in an answer as this one.
   */
  private final class RangeReader implements Feed.Reader, Feed.Appetite {
    private Range left;
    private final int ranges;
    private int size;
    private long answers;
    private long events;

    RangeReader(Range range, int firstRows, int ranges) {
      left = range;
      this.ranges = ranges;
      size = Math.min(firstRows, requestRows);
    }

    @Override
    public void read(Feed feed) throws Exception {
      try {
        readOn(feed);
      } finally {
        if (answers == 0) {
          unanswered.decrementAndGet();
        }
      }
    }

    private void readOn(Feed feed) throws Exception {
      while (left != null) {
        boolean isBounded = size < requestRows;
        leaveAfter(feed.drain(scanner(left, size, isBounded), isBounded ? size : Long.MAX_VALUE, this));
        if (left != null && !wantsMore()) {
          feed.awaitHunger();
        }
        size = nextSize();
      }
    }

    private void leaveAfter(Key last) {
      left = last == null ? null : new Range(last, false, left.getEndKey(), left.isEndKeyInclusive());
    }

    /** Counts the range's first answer, which was read by others; null if it has none. */
    void count(Entry<Key, Value> answer) {
      if (answer == null) {
        unanswered.decrementAndGet();
      } else {
        wantsMoreThan(answer.getValue());
        leaveAfter(answer.getKey());
        size = nextSize();
      }
    }

    private int nextSize() {
      long grown = Math.min((long) size * GROWTH, requestRows);
      if (limit == NO_LIMIT || events == 0) {
        return (int) grown;
      }
      double rows = (double) wanted.get() / ranges * answers / events;
      return (int) Math.max(1, Math.min(grown, Math.ceil(rows)));
    }

    @Override
    public boolean wantsMoreThan(Value answer) {
      if (limit != NO_LIMIT && !isBeat(answer)) {
        int found = countEvents(answer);
        if (answers++ == 0) {
          unanswered.decrementAndGet();
        }
        events += found;
        wanted.addAndGet(-found);
      }
      return wantsMore();
    }

    private boolean wantsMore() {
      return limit == NO_LIMIT
          || wanted.get() > (answers == 0 ? 0.0 : (double) unanswered.get() * events / answers);
    }
  }

  @Override
  protected final boolean isFirstFull(int entries, int firstRows) {
    if (entries < firstRows || limit == NO_LIMIT) {
      return entries >= firstRows;
    }
    // Of a limited number, what is at hand of all ranges is often enough: one batch costs less than two.
    int events = columnRows(entries);
    return events >= FIRST_EVENTS || (events >= limit && comeBefore(nextKey()));
  }

  /** Returns whether all events of the batch come before those of entries that begin with a key; null is any key. */
  protected boolean comeBefore(Key next) {
    return true;
  }

  @Override
  protected final int fullRows(int batchRows) {
    if (limit == NO_LIMIT) {
      return batchRows;
    }
    long left = limit - handedOver;
    long rows = left > 0 ? Math.round(left * (1 + SPARE)) : limit / SHARE_BEYOND;
    return (int) Math.max(1, Math.min(batchRows, rows));
  }

  /** Returns whether the server's iterator heeds {@link EventOptions#ANSWERS}. */
  protected boolean heedsAnswers() {
    return false;
  }

  private ScannerBase scanner(Range range, int answers, boolean isBounded) throws Exception {
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
    handedOver += count;
    return vectors;
  }
}

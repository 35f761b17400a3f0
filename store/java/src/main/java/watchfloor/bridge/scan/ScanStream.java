package watchfloor.bridge.scan;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.Deque;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.PriorityQueue;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import org.apache.accumulo.core.data.Key;
import org.apache.accumulo.core.data.Value;
import org.apache.arrow.c.ArrowArray;
import org.apache.arrow.c.ArrowSchema;
import org.apache.arrow.c.Data;
import org.apache.arrow.vector.FieldVector;
import org.apache.arrow.vector.VectorSchemaRoot;
import org.apache.arrow.vector.types.pojo.Field;
import org.apache.arrow.vector.types.pojo.Schema;
import watchfloor.bridge.Connection;
import watchfloor.bridge.StoreException;
import watchfloor.bridge.columns.ArrowMemory;

/**
 * A scan as a stream of record batches; the common base of {@link EntryStream} and {@link EventStream}. It merges
 * several feeds in an order. A batch is sent when it is full, or when it holds entries and no more arrive for a short
 * time.
 */
public abstract class ScanStream implements AutoCloseable {
  /**
   * The age of a batch's first row at which the batch waits no longer for more rows. It is shorter for the first batch,
   * as that holds the user's first result.
   */
  private static final long FIRST_LINGER_MILLIS = 10;
  private static final long LINGER_MILLIS = 100;
  /** The bytes of its columns at which a batch is full, whatever its number of rows. */
  private static final long BATCH_BYTES = 4 << 20;
  private static final ReadAheadMemory MEMORY = ReadAheadMemory.OF_PROCESS;
  /** The bytes that all feeds of a stream together may read ahead, and those that they always may. */
  private static final long READ_AHEAD_BYTES = Math.min(32 << 20, MEMORY.size() / 4);
  private static final long OWN_BYTES = 256 << 10;

  /** A key of a batch's metadata. Its value is a row in hexadecimal; no entry after the batch has a row before it. */
  public static final String NEXT_ROW = "next row";

  final Connection connection;
  final String table;
  private final int firstBatchRows;
  private final int batchRows;
  private boolean isFirst = true;
  private List<Feed> feeds = List.of();
  /**
   * The feeds whose next entry is not known yet. Those whose next entry is known are in {@link #heads}, sorted by it.
   */
  private final Deque<Feed> pending = new ArrayDeque<>();
  private PriorityQueue<Feed> heads;
  private Comparator<Key> order;
  private int rows;
  private long lingerMillis = FIRST_LINGER_MILLIS;
  /** The time at which the batch's first row came, by System.nanoTime. */
  private long firstRowAt;
  private boolean full;
  private volatile boolean closed;

  ScanStream(Connection connection, String table, int firstBatchRows, int batchRows) {
    if (firstBatchRows < 1 || batchRows < 1) {
      throw new IllegalArgumentException("a batch has at least one row");
    }
    this.connection = connection;
    this.table = table;
    this.firstBatchRows = firstBatchRows;
    this.batchRows = batchRows;
  }

  /** Starts a feed for each reader and merges them in an order. */
  final void start(List<Feed.Reader> readers, Comparator<Key> order) {
    List<Feed> made = makeFeeds(readers.size(), order);
    for (int i = 0; i < made.size(); i++) {
      made.get(i).begin(readers.get(i));
    }
  }

  /** Makes so many feeds, which are merged in an order. */
  final List<Feed> makeFeeds(int number, Comparator<Key> order) {
    this.order = order;
    heads = new PriorityQueue<>(Math.max(1, number), (a, b) -> order.compare(a.key(), b.key()));
    int count = Math.max(1, number);
    List<Feed> made = new ArrayList<>();
    for (int i = 0; i < number; i++) {
      made.add(new Feed(MEMORY, READ_AHEAD_BYTES / count, OWN_BYTES / count));
    }
    feeds = made;
    pending.addAll(made);
    return made;
  }

  /** Appends an entry to the batch's columns. */
  protected abstract void append(int row, Key key, Value value);

  /** Returns the rows of the batch's columns, which are more than its entries if an entry has several rows. */
  protected int columnRows(int entries) {
    return entries;
  }

  /** Returns whether a batch after the first one is full with so many entries. */
  protected boolean isLaterFull(int entries, int batchRows) {
    return columnRows(entries) >= batchRows;
  }

  /**
   * Returns whether a first batch with so many entries is full. It is sent anyway with {@code firstRows} entries once
   * there is none at hand to append.
   */
  protected boolean isFirstFull(int entries, int firstRows) {
    return entries >= firstRows;
  }

  /** Is called before each batch after the first is filled. */
  void beginLaterBatch() {}

  /** Returns the bytes of the batch's columns. */
  protected abstract long bytes();

  /** Returns a key before which no further entry of the last appended entry's feed comes; null if it is not known. */
  protected Key next() {
    return null;
  }

  /** Returns whether an entry is a heartbeat, which only says how far the scan has come. */
  boolean isBeat(Value value) {
    return false;
  }

  /** Returns vectors of the first {@code count} entries and starts again with none. An entry has one row or more. */
  protected abstract List<FieldVector> take(int count);

  /**
   * Results of {@link #next}: no batch within the time, no further batch, a batch was exported, the last batch was
   * exported.
   */
  public static final int NOTHING_YET = 0;
  public static final int END = 1;
  public static final int BATCH = 2;
  public static final int LAST_BATCH = 3;

  /**
   * Waits for the next batch for at most {@code millis}, and exports it to two structures of Arrow's C data interface.
   */
  public final int next(long millis, long arrayAddress, long schemaAddress) {
    if (!isFirst) {
      beginLaterBatch();
    }
    if (!guarded(() -> fill(millis))) {
      return NOTHING_YET;
    }
    int count = rows;
    if (count == 0) {
      return END;
    }
    rows = 0;
    full = false;
    isFirst = false;
    pending.removeIf(Feed::isAtEnd);
    lingerMillis = LINGER_MILLIS;
    List<FieldVector> vectors = take(count);
    List<Field> fields = vectors.stream().map(FieldVector::getField).collect(Collectors.toList());
    try (VectorSchemaRoot root = new VectorSchemaRoot(new Schema(fields, nextRow()), vectors, 0);
        ArrowArray array = ArrowArray.wrap(arrayAddress);
        ArrowSchema schema = ArrowSchema.wrap(schemaAddress)) {
      root.setRowCount(root.getVector(0).getValueCount());
      Data.exportVectorSchemaRoot(ArrowMemory.ALLOCATOR, root, null, array, schema);
    }
    return pending.isEmpty() && heads.isEmpty() ? LAST_BATCH : BATCH;
  }

  /** Returns the metadata of a batch: {@link #NEXT_ROW} if it is known, else nothing. */
  private Map<String, String> nextRow() {
    Key next = nextKey();
    return next == null ? Map.of() : Map.of(NEXT_ROW, HexFormat.of().formatHex(next.getRowData().toArray()));
  }

  /** Returns a key before which no entry comes after those of the batch; null if none is known. */
  protected final Key nextKey() {
    Key next = heads.isEmpty() ? null : heads.peek().key();
    for (Feed feed : pending) {
      if (feed.next == null) {
        return null;
      }
      next = next == null || order.compare(feed.next, next) < 0 ? feed.next : next;
    }
    return next;
  }

  private interface Step {
    boolean run() throws Exception;
  }

  /** Runs a step. A failure closes the scan and is thrown as a StoreException. */
  private boolean guarded(Step step) {
    if (closed) {
      throw new StoreException("table " + table + ": the scan was closed before its end");
    }
    try {
      return step.run();
    } catch (Exception e) {
      boolean cancelled = closed;
      close();
      if (cancelled) {
        throw new StoreException("table " + table + ": the scan was closed before its end", e);
      }
      throw StoreException.of(table, "scan", e);
    }
  }

  /** Fills the batch for at most {@code millis}. Returns true if the batch can be sent or the scan is at its end. */
  private boolean fill(long millis) throws Exception {
    long begin = System.nanoTime();
    while (!full) {
      Feed feed = blocking();
      if (feed != null) {
        if (isFirst && rows >= firstBatchRows && !feed.isNextAtHand() && !feed.isAtEnd()) {
          full = true;
          break;
        }
        Feed.Head head = feed.advance(0);
        if (head == Feed.Head.NOTHING_YET) {
          head = await(feed, begin, millis);
        }
        if (head == Feed.Head.NOTHING_YET) {
          return full;
        }
        if (head == Feed.Head.POSTPONED || (head == Feed.Head.ENTRY && cameTooLate(feed))) {
          continue;
        }
        pending.remove(feed);
        if (head == Feed.Head.ENTRY) {
          heads.add(feed);
        }
        continue;
      }
      Feed first = heads.poll();
      if (first == null) {
        return true;
      }
      Value value = first.value();
      if (isBeat(value)) {
        pending.add(first);
        continue;
      }
      if (rows == 0) {
        firstRowAt = System.nanoTime();
      }
      append(rows++, first.key(), value);
      first.next = next();
      pending.add(first);
      full = isFull();
    }
    return true;
  }

  /**
   * Returns a feed whose next entry must be known before an entry can be appended: it may come before the least of those
   * that are known. Null if there is none, so that feeds which have nothing to say yet are not asked to read on. Of those
   * of which it is known where they go on, it is the one that goes on first.
   */
  private Feed blocking() {
    Key least = heads.isEmpty() ? null : heads.peek().key();
    Feed blocking = null;
    for (Feed feed : pending) {
      if (feed.next == null) {
        return feed;
      }
      if (least == null || order.compare(feed.next, least) <= 0) {
        blocking = feed;
        least = feed.next;
      }
    }
    return blocking;
  }

  private boolean isFull() {
    boolean hasRows = isFirst ? isFirstFull(rows, firstBatchRows) : isLaterFull(rows, batchRows);
    return hasRows || bytes() >= BATCH_BYTES;
  }

  /**
   * Returns whether a feed's entry lies before the key that was said to be the next. It was written after the server had
   * looked for the next one, and so after the scan began. Newer entries may be out already, so it is left out.
   */
  private boolean cameTooLate(Feed feed) {
    return feed.next != null && order.compare(feed.key(), feed.next) < 0;
  }

  /** Waits for a feed until the time of {@link #fill} is up, or until the rows of the batch must wait no longer. */
  private Feed.Head await(Feed feed, long begin, long millis) throws Exception {
    long probeMillis = TimeUnit.SECONDS.toMillis(connection.scanSeconds());
    long probeAfter = probeMillis;
    while (true) {
      long waited = millisSince(begin);
      long left = millis - waited;
      if (rows > 0) {
        left = Math.min(left, lingerMillis - millisSince(firstRowAt));
      }
      Feed.Head head = feed.advance(Math.max(0, Math.min(left, probeAfter - waited)));
      if (head != Feed.Head.NOTHING_YET) {
        return head;
      }
      if (rows > 0 && millisSince(firstRowAt) >= lingerMillis) {
        full = true;
        return head;
      }
      waited = millisSince(begin);
      if (waited >= millis) {
        return head;
      }
      if (waited >= probeAfter) {
        connection.probe();
        probeAfter = waited + probeMillis;
      }
    }
  }

  private static long millisSince(long nanos) {
    return TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - nanos);
  }

  /** Stops what is read for several feeds together. */
  void stop() {}

  /** Cancels the scan, on the servers too. May be called from any thread and repeatedly. */
  @Override
  public final void close() {
    closed = true;
    stop();
    feeds.forEach(Feed::close);
  }
}

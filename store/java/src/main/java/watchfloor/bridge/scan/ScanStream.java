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
 * A scan as a stream of record batches: what {@link EntryStream} and {@link EventStream} share. Several feeds are
 * merged by an order; a batch goes out when it is full, or when it holds something and no more comes for a moment.
 */
public abstract class ScanStream implements AutoCloseable {
  /** A batch waits for more rows until its first one is so old; the first batch is somebody's first result. */
  private static final long FIRST_LINGER_MILLIS = 10;
  private static final long LINGER_MILLIS = 100;
  /** Bytes of a batch after which it is full, whatever its rows. */
  private static final long BATCH_BYTES = 16 << 20;
  /** Bytes that all feeds of a stream together may read ahead. */
  private static final long READ_AHEAD_BYTES = 32 << 20;

  /** In a batch's metadata, in hexadecimal: no entry after the batch is of a row that comes before this one. */
  public static final String NEXT_ROW = "next row";

  final Connection connection;
  final String table;
  private final int batchRows;
  private int nextBatchRows;
  private List<Feed> feeds = List.of();
  /** Feeds whose next entry is not known yet, and those whose is, first one first. */
  private final Deque<Feed> pending = new ArrayDeque<>();
  private PriorityQueue<Feed> heads;
  private Comparator<Key> order;
  private int rows;
  private long bytes;
  private long lingerMillis = FIRST_LINGER_MILLIS;
  /** The time at which the batch's first row came, by nanoTime. */
  private long firstRowAt;
  private boolean full;
  private volatile boolean closed;

  ScanStream(Connection connection, String table, int firstBatchRows, int batchRows) {
    if (firstBatchRows < 1 || batchRows < 1) {
      throw new IllegalArgumentException("a batch has at least one row");
    }
    this.connection = connection;
    this.table = table;
    this.batchRows = batchRows;
    this.nextBatchRows = firstBatchRows;
  }

  /** Begins to read. */
  final void start(List<Feed.Reader> readers, Comparator<Key> order) {
    this.order = order;
    heads = new PriorityQueue<>(Math.max(1, readers.size()), (a, b) -> order.compare(a.key(), b.key()));
    long share = READ_AHEAD_BYTES / Math.max(1, readers.size());
    List<Feed> started = new ArrayList<>();
    readers.forEach(reader -> started.add(new Feed(reader, share)));
    feeds = started;
    pending.addAll(started);
  }

  /** Puts an entry into the batch's columns. */
  protected abstract void append(int row, Key key, Value value);

  /** A key before which nothing comes in the feed of the entry that was put last; null if it has not said so. */
  protected Key next() {
    return null;
  }

  /** Returns whether an entry only says how far the scan has come. */
  boolean isBeat(Value value) {
    return false;
  }

  /** The columns of the first {@code count} entries as vectors, one row an entry or more, and a fresh start. */
  protected abstract List<FieldVector> take(int count);

  /** Results of {@link #next}: nothing has come so far, nothing comes any more, a batch was exported, or the last one. */
  public static final int NOTHING_YET = 0;
  public static final int END = 1;
  public static final int BATCH = 2;
  public static final int LAST_BATCH = 3;

  /** Waits so long for the next batch, and exports it to two structures of Arrow's C data interface. */
  public final int next(long millis, long arrayAddress, long schemaAddress) {
    if (!guarded(() -> fill(millis))) {
      return NOTHING_YET;
    }
    int count = rows;
    if (count == 0) {
      return END;
    }
    rows = 0;
    bytes = 0;
    full = false;
    nextBatchRows = batchRows;
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

  /** {@link #NEXT_ROW}, if it is known. */
  private Map<String, String> nextRow() {
    Key next = heads.isEmpty() ? null : heads.peek().key();
    for (Feed feed : pending) {
      if (feed.next == null) {
        return Map.of();
      }
      next = next == null || order.compare(feed.next, next) < 0 ? feed.next : next;
    }
    return next == null ? Map.of() : Map.of(NEXT_ROW, HexFormat.of().formatHex(next.getRowData().toArray()));
  }

  private interface Step {
    boolean run() throws Exception;
  }

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

  /** Fills the batch for at most so long. True if there is nothing to wait for: the batch can go, or the end is met. */
  private boolean fill(long millis) throws Exception {
    long begin = System.nanoTime();
    while (!full) {
      while (!pending.isEmpty()) {
        Feed feed = pending.peek();
        Feed.Head head = feed.advance(0);
        if (head == Feed.Head.NOTHING_YET) {
          head = await(feed, begin, millis);
        }
        if (head == Feed.Head.NOTHING_YET) {
          return full;
        }
        pending.remove();
        if (head == Feed.Head.ENTRY) {
          heads.add(feed);
        }
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
      bytes += value.getSize();
      pending.add(first);
      full = rows >= nextBatchRows || bytes >= BATCH_BYTES;
    }
    return true;
  }

  /** Waits for a feed until the time that {@code fill} has is up, or what the batch holds should wait no longer. */
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

  /** Cancels the scan, on the servers too. From any thread, and as often as wanted. */
  @Override
  public final void close() {
    closed = true;
    feeds.forEach(Feed::close);
  }
}

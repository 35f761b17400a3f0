package watchfloor.bridge.scan;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import org.apache.accumulo.core.client.BatchScanner;
import org.apache.accumulo.core.client.IteratorSetting;
import org.apache.accumulo.core.client.Scanner;
import org.apache.accumulo.core.client.ScannerBase;
import org.apache.accumulo.core.data.Key;
import org.apache.accumulo.core.data.Range;
import org.apache.accumulo.core.data.Value;
import org.apache.accumulo.core.security.Authorizations;
import org.apache.arrow.vector.FieldVector;
import watchfloor.bridge.Connection;
import watchfloor.bridge.columns.ArrowMemory;
import watchfloor.bridge.columns.ByteBuilder;

/**
 * Reads a table's entries as record batches with the columns row, family, qualifier, visibility and value, all binary.
 */
public final class EntryStream extends ScanStream {
  private final ByteBuilder row = new ByteBuilder("row");
  private final ByteBuilder family = new ByteBuilder("family");
  private final ByteBuilder qualifier = new ByteBuilder("qualifier");
  private final ByteBuilder visibility = new ByteBuilder("visibility");
  private final ByteBuilder value = new ByteBuilder("value");

  /**
   * Starts the scan. The request's {@code iterators} are rows of priority, name, class, and then names and values of
   * options. Its {@code requests} are passed to {@link Connection#threads}.
   */
  public EntryStream(Connection connection, ScanRequest request) {
    super(connection, request.text("table"), request.number("batch_rows"), request.number("batch_rows"));
    List<Range> ranges = request.ranges();
    Authorizations labels = request.authorizations();
    int batchRows = request.number("batch_rows");
    int requests = request.number("requests");
    List<IteratorSetting> settings = new ArrayList<>();
    for (String[] iterator : request.texts("iterators")) {
      settings.add(setting(iterator));
    }
    String family = request.text("family");
    Feed.Reader reader =
        request.flag("ordered")
            ? feed -> {
              for (Range range : ranges) {
                Scanner scanner = connection.client().createScanner(table, labels);
                scanner.setRange(range);
                scanner.setBatchSize(batchRows);
                feed.drain(ofFamily(family, Scans.prepared(connection, scanner, settings)), Long.MAX_VALUE);
              }
            }
            : feed -> {
              BatchScanner scanner = connection.client().createBatchScanner(table, labels, connection.threads(requests));
              scanner.setRanges(ranges);
              feed.drain(ofFamily(family, Scans.prepared(connection, scanner, settings)), Long.MAX_VALUE);
            };
    start(ranges.isEmpty() ? List.of() : List.of(reader), Comparator.naturalOrder());
  }

  /** Has a scanner read one family of columns, unless it is null. */
  private static ScannerBase ofFamily(String family, ScannerBase scanner) {
    if (family != null) {
      scanner.fetchColumnFamily(family);
    }
    return scanner;
  }

  private static IteratorSetting setting(String[] iterator) {
    if (iterator.length < 3 || iterator.length % 2 == 0) {
      throw new IllegalArgumentException("an iterator is priority, name, class and pairs of key and value");
    }
    Map<String, String> options = ScanRequest.optionsFrom(iterator, 3);
    return new IteratorSetting(Integer.parseInt(iterator[0]), iterator[1], iterator[2], options);
  }

  @Override
  protected void append(int at, Key key, Value cell) {
    row.set(at, key.getRowData());
    family.set(at, key.getColumnFamilyData());
    qualifier.set(at, key.getColumnQualifierData());
    visibility.set(at, key.getColumnVisibilityData());
    value.set(at, cell.get(), 0, cell.getSize());
  }

  @Override
  protected long bytes() {
    return row.bytes() + family.bytes() + qualifier.bytes() + visibility.bytes() + value.bytes();
  }

  @Override
  protected List<FieldVector> take(int count) {
    List<FieldVector> vectors = new ArrayList<>();
    for (ByteBuilder builder : List.of(row, family, qualifier, visibility, value)) {
      vectors.add(builder.take(count, ArrowMemory.ALLOCATOR));
    }
    return vectors;
  }
}

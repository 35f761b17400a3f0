package watchfloor.bridge.scan;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
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

/** A table's entries as record batches with the columns row, family, qualifier, visibility and value, all binary. */
public final class EntrySource extends ScanStream {
  private final ByteBuilder row = new ByteBuilder("row");
  private final ByteBuilder family = new ByteBuilder("family");
  private final ByteBuilder qualifier = new ByteBuilder("qualifier");
  private final ByteBuilder visibility = new ByteBuilder("visibility");
  private final ByteBuilder value = new ByteBuilder("value");

  /**
   * @param iterators one each: priority, name, class, and then keys and values of its options
   * @param requests that a BatchScanner has under way at once, see {@link Connection#threads}
   * @param ordered one range after the other, each in the order of its keys; otherwise in any order, by a BatchScanner
   */
  public EntrySource(
      Connection connection,
      String table,
      String[] authorizations,
      long rangesArrayAddress,
      long rangesSchemaAddress,
      String[][] iterators,
      int batchRows,
      int requests,
      boolean ordered) {
    super(connection, table, batchRows, batchRows);
    List<Range> ranges = Ranges.read(rangesArrayAddress, rangesSchemaAddress);
    Authorizations labels = new Authorizations(authorizations);
    List<IteratorSetting> settings = new ArrayList<>();
    for (String[] iterator : iterators) {
      settings.add(setting(iterator));
    }
    Feed.Reader reader =
        ordered
            ? feed -> {
              for (Range range : ranges) {
                Scanner scanner = connection.client().createScanner(table, labels);
                scanner.setRange(range);
                scanner.setBatchSize(batchRows);
                feed.drain(Scans.prepared(connection, scanner, settings), Long.MAX_VALUE);
              }
            }
            : feed -> {
              BatchScanner scanner = connection.client().createBatchScanner(table, labels, connection.threads(requests));
              scanner.setRanges(ranges);
              feed.drain(Scans.prepared(connection, scanner, settings), Long.MAX_VALUE);
            };
    start(ranges.isEmpty() ? List.of() : List.of(reader), Comparator.naturalOrder());
  }

  private static IteratorSetting setting(String[] iterator) {
    if (iterator.length < 3 || iterator.length % 2 == 0) {
      throw new IllegalArgumentException("an iterator is priority, name, class and pairs of key and value");
    }
    Map<String, String> options = new HashMap<>();
    for (int i = 3; i < iterator.length; i += 2) {
      options.put(iterator[i], iterator[i + 1]);
    }
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
  protected List<FieldVector> take(int count) {
    List<FieldVector> vectors = new ArrayList<>();
    for (ByteBuilder builder : List.of(row, family, qualifier, visibility, value)) {
      vectors.add(builder.take(count, ArrowMemory.ALLOCATOR));
    }
    return vectors;
  }
}

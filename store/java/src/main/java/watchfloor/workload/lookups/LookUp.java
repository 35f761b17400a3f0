package watchfloor.workload.lookups;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import org.apache.accumulo.core.client.AccumuloClient;
import org.apache.accumulo.core.client.BatchScanner;
import org.apache.accumulo.core.client.TableNotFoundException;
import org.apache.accumulo.core.data.ArrayByteSequence;
import org.apache.accumulo.core.data.ByteSequence;
import org.apache.accumulo.core.data.Key;
import org.apache.accumulo.core.data.Range;
import org.apache.accumulo.core.data.Value;
import org.apache.accumulo.core.security.Authorizations;
import org.apache.hadoop.io.Text;
import watchfloor.bridge.StoreException;

/** One look-up: some rows, asked for by one BatchScanner, each checked cell by cell. */
final class LookUp {
  private static final int ALL_COLUMNS = (1 << LookupRows.COLUMNS) - 1;

  private final String table;
  private final LookupRows rows;
  private final long[] numbers;
  private final int[] seen;
  private final Map<ByteSequence, Integer> places = new HashMap<>();
  private final List<Range> ranges = new ArrayList<>();

  /** Prepares a look-up of rows with these numbers, each once. */
  LookUp(String table, LookupRows rows, long[] numbers) {
    this.table = table;
    this.rows = rows;
    this.numbers = numbers;
    seen = new int[numbers.length];
    for (int place = 0; place < numbers.length; place++) {
      byte[] row = rows.row(numbers[place]);
      places.put(new ArrayByteSequence(row), place);
      ranges.add(new Range(new Text(row)));
    }
  }

  /** Draws the numbers of so many different rows. */
  static long[] draw(Random random, long rows, int batch) {
    return random.longs(0, rows).distinct().limit(batch).toArray();
  }

  /**
   * Asks for the rows with a scanner of so many threads, and returns the nanoseconds from before the scanner is made
   * until it is closed. Throws a StoreException that names the first row that is not as it was written.
   */
  long run(AccumuloClient client, int threads) throws TableNotFoundException {
    long began = System.nanoTime();
    try (BatchScanner scanner = client.createBatchScanner(table, Authorizations.EMPTY, threads)) {
      scanner.setRanges(ranges);
      for (Map.Entry<Key, Value> entry : scanner) {
        check(entry.getKey(), entry.getValue());
      }
    }
    long nanos = System.nanoTime() - began;
    for (int place = 0; place < numbers.length; place++) {
      if (seen[place] != ALL_COLUMNS) {
        throw wrong(place, "has " + Integer.bitCount(seen[place]) + " of " + LookupRows.COLUMNS + " columns");
      }
    }
    return nanos;
  }

  private void check(Key key, Value value) {
    Integer place = places.get(key.getRowData());
    if (place == null) {
      throw new StoreException("table " + table + ": row " + key.getRow() + " came, and was not asked for");
    }
    int column = LookupRows.column(key.getColumnQualifierData().toArray());
    if (column < 0) {
      throw wrong(place, "has a column that was not written: " + key.getColumnQualifier());
    }
    if ((seen[place] & 1 << column) != 0) {
      throw wrong(place, "came with column c" + column + " twice");
    }
    if (!Arrays.equals(value.get(), rows.value(numbers[place], column))) {
      throw wrong(place, "has another value in column c" + column + " than was written: " + value);
    }
    seen[place] |= 1 << column;
  }

  private StoreException wrong(int place, String what) {
    String row = new Text(rows.row(numbers[place])).toString();
    return new StoreException("table " + table + ": row " + row + ", number " + numbers[place] + ", " + what);
  }
}

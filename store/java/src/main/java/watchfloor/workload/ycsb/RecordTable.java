package watchfloor.workload.ycsb;

import java.util.Map;
import java.util.SortedSet;
import java.util.TreeSet;
import org.apache.accumulo.core.client.AccumuloClient;
import org.apache.accumulo.core.client.AccumuloException;
import org.apache.accumulo.core.client.AccumuloSecurityException;
import org.apache.accumulo.core.client.TableNotFoundException;
import org.apache.accumulo.core.client.admin.NewTableConfiguration;
import org.apache.hadoop.io.Text;

/**
 * A table of YCSB's records. Properties of the table say what it holds, so that a run needs not be told, and records
 * that one run has inserted are known to the next.
 */
final class RecordTable {
  private static final String PREFIX = "table.custom.ycsb.";
  private static final String RECORDS = PREFIX + "records";
  private static final String FIELDS = PREFIX + "fields";
  private static final String FIELD_LENGTH = PREFIX + "field.length";
  private static final int FIRST_KEY = 1000;
  private static final int LAST_KEY = 9999;

  private final AccumuloClient client;
  private final String name;

  RecordTable(AccumuloClient client, String name) {
    this.client = client;
    this.name = name;
  }

  /**
   * Creates the table as the notes of YCSB's Accumulo binding ask: split evenly between {@code user1000} and {@code
   * user9999}, with the block cache, snappy, and writes that are flushed to the log.
   *
   * @param again a table that was made by this method is dropped first
   * @throws IllegalArgumentException if there is a table of this name which must not be dropped
   */
  void create(RecordShape shape, int tablets, boolean again) throws Exception {
    if (client.tableOperations().exists(name)) {
      if (!properties().containsKey(FIELDS)) {
        throw new IllegalArgumentException(
            "table " + name + " exists, and was not made by `watchfloor ycsb load`: choose another --table");
      }
      if (!again) {
        throw new IllegalArgumentException(
            "table " + name + " exists: --again drops it and loads it anew; or choose another --table");
      }
      client.tableOperations().delete(name);
    }
    SortedSet<Text> splits = new TreeSet<>();
    for (int tablet = 1; tablet < tablets; tablet++) {
      splits.add(new Text("user" + (FIRST_KEY + tablet * (LAST_KEY - FIRST_KEY) / tablets)));
    }
    NewTableConfiguration configuration =
        new NewTableConfiguration()
            .setProperties(
                Map.of(
                    "table.cache.block.enable", "true",
                    "table.file.compress.type", "snappy",
                    "table.durability", "flush",
                    FIELDS, Integer.toString(shape.fields()),
                    FIELD_LENGTH, Integer.toString(shape.fieldLength())));
    if (!splits.isEmpty()) {
      configuration.withSplits(splits);
    }
    client.tableOperations().create(name, configuration);
  }

  /** Returns what the table holds. Throws an IllegalArgumentException if it is not a table of records. */
  RecordShape readShape() throws AccumuloException {
    Map<String, String> properties;
    try {
      properties = properties();
    } catch (TableNotFoundException e) {
      throw new IllegalArgumentException("no table " + name + ": run `watchfloor ycsb load` first", e);
    }
    if (!properties.containsKey(RECORDS)) {
      String reason = properties.containsKey(FIELDS) ? " was not loaded to its end" : " was not made by `watchfloor ycsb load`";
      throw new IllegalArgumentException("table " + name + reason + ": it is not known which records it has");
    }
    return new RecordShape(
        Long.parseLong(properties.get(RECORDS)),
        Integer.parseInt(properties.get(FIELDS)),
        Integer.parseInt(properties.get(FIELD_LENGTH)));
  }

  /** Notes how many records the table has. Until that is done for the first time, no workload runs on it. */
  void storeRecords(long records) throws AccumuloException, AccumuloSecurityException {
    client.tableOperations().setProperty(name, RECORDS, Long.toString(records));
  }

  private Map<String, String> properties() throws AccumuloException, TableNotFoundException {
    return client.tableOperations().getTableProperties(name);
  }
}

package watchfloor.workload.lookups;

import java.util.Map;
import org.apache.accumulo.core.client.AccumuloClient;

/** The properties of a table by which a reader knows which rows were written. No other table has them. */
final class TableRows {
  private static final String ROWS = "table.custom.watchfloor.lookups.rows";
  private static final String SEED = "table.custom.watchfloor.lookups.seed";

  private TableRows() {}

  static Map<String, String> properties(long rows, long seed) {
    return Map.of(ROWS, Long.toString(rows), SEED, Long.toString(seed));
  }

  /** Returns a table's rows. Throws an IllegalArgumentException if it was not written for look-ups. */
  static LookupRows read(AccumuloClient client, String table) throws Exception {
    if (!client.tableOperations().exists(table)) {
      throw new IllegalArgumentException(
          "there is no table " + table + ": `watchfloor lookups write` makes one, --table names another");
    }
    Map<String, String> properties = client.tableOperations().getTableProperties(table);
    if (!properties.containsKey(ROWS)) {
      throw new IllegalArgumentException(
          "table " + table + " was not made by `watchfloor lookups write`: --table names another");
    }
    return new LookupRows(Long.parseLong(properties.get(ROWS)), Long.parseLong(properties.get(SEED)));
  }
}

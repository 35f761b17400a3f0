package watchfloor.workload.continuous;

import java.util.HashMap;
import java.util.Map;
import java.util.SortedSet;
import java.util.TreeSet;
import org.apache.accumulo.core.client.admin.NewTableConfiguration;
import org.apache.accumulo.core.security.Authorizations;
import org.apache.hadoop.io.Text;
import watchfloor.workload.Job;
import watchfloor.workload.Workload;

/** Makes the suite's table, split into equal parts of the range of rows, and lets the client's user see its labels. */
public final class CreateTable implements Workload {
  @Override
  public void run(Job job) throws Exception {
    String table = job.text("table");
    if (job.client().tableOperations().exists(table)) {
      if (!job.flag("again")) {
        throw new IllegalArgumentException("table " + table + " exists: --again replaces it, --table names another");
      }
      job.client().tableOperations().delete(table);
    }
    Map<String, String> properties = new HashMap<>();
    for (String property : job.texts("properties")) {
      String[] parts = property.split("=", 2);
      properties.put(parts[0], parts[1]);
    }
    NewTableConfiguration configuration = new NewTableConfiguration().setProperties(properties);
    SortedSet<Text> splits = splits(job.number("first_row"), job.number("end_row"), job.whole("tablets"));
    if (!splits.isEmpty()) {
      configuration.withSplits(splits);
    }
    job.client().tableOperations().create(table, configuration);
    for (Authorizations set : job.authorizations("authorizations")) {
      allow(job, set);
    }
    job.tell(Map.of("table", table, "tablets", splits.size() + 1));
  }

  /** Returns the rows at which accumulo-testing splits: without the zeros at their ends, which sort alike. */
  static SortedSet<Text> splits(long first, long end, int tablets) {
    SortedSet<Text> splits = new TreeSet<>();
    long width = (end - first) / tablets + 1;
    for (int i = 1; i < tablets; i++) {
      String row = String.format("%016x", first + i * width).replaceAll("0+$", "");
      splits.add(new Text(row));
    }
    return splits;
  }

  private static void allow(Job job, Authorizations set) throws Exception {
    var security = job.client().securityOperations();
    String user = job.client().whoami();
    TreeSet<String> all = new TreeSet<>();
    security.getUserAuthorizations(user).iterator().forEachRemaining(label -> all.add(text(label)));
    set.iterator().forEachRemaining(label -> all.add(text(label)));
    security.changeUserAuthorizations(user, new Authorizations(all.toArray(new String[0])));
  }

  private static String text(byte[] label) {
    return new String(label, java.nio.charset.StandardCharsets.UTF_8);
  }
}

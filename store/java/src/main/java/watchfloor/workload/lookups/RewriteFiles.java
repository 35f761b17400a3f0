package watchfloor.workload.lookups;

import java.util.Collections;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import org.apache.accumulo.core.client.Scanner;
import org.apache.accumulo.core.client.admin.CompactionConfig;
import org.apache.accumulo.core.data.Key;
import org.apache.accumulo.core.data.Range;
import org.apache.accumulo.core.data.Value;
import org.apache.accumulo.core.security.Authorizations;
import org.apache.hadoop.io.Text;
import watchfloor.workload.Job;
import watchfloor.workload.Workload;

/**
 * Has all files of a table written anew, so that no cache of the tablet servers holds a block of them: blocks are cached
 * by the name of their file. Tells the table's {@code id}.
 */
public final class RewriteFiles implements Workload {
  private static final long TICK_MILLIS = 20;

  @Override
  public void run(Job job) throws Exception {
    String table = job.text("table");
    String id = job.client().tableOperations().tableIdMap().get(table);
    Set<Text> before = files(job, id);
    // Accumulo's own way of waiting takes half a second for each tablet.
    job.client().tableOperations().compact(table, new CompactionConfig().setFlush(true).setWait(false));
    while (!job.isStopping() && !Collections.disjoint(before, files(job, id))) {
      job.sleep(TICK_MILLIS);
    }
    job.tell(Map.of("id", id));
  }

  /** Returns the names of a table's files, as the metadata table has them. */
  private static Set<Text> files(Job job, String id) throws Exception {
    Set<Text> names = new HashSet<>();
    try (Scanner scanner = job.client().createScanner("accumulo.metadata", Authorizations.EMPTY)) {
      scanner.setRange(new Range(new Text(id + ";"), true, new Text(id + "<"), true));
      scanner.fetchColumnFamily(new Text("file"));
      for (Map.Entry<Key, Value> entry : scanner) {
        names.add(entry.getKey().getColumnQualifier());
      }
    }
    return names;
  }
}

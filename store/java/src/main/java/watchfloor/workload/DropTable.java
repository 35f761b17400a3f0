package watchfloor.workload;

import java.util.Map;

/** Removes a table that a workload has made, if it is there. */
public final class DropTable implements Workload {
  @Override
  public void run(Job job) throws Exception {
    var tables = job.client().tableOperations();
    boolean exists = tables.exists(job.text("table"));
    if (exists) {
      tables.delete(job.text("table"));
    }
    job.tell(Map.of("dropped", exists));
  }
}

package watchfloor.workload.ycsb;

import java.util.Properties;
import org.apache.accumulo.core.client.AccumuloException;
import org.apache.accumulo.core.client.AccumuloSecurityException;
import site.ycsb.Client;
import site.ycsb.WorkloadException;
import site.ycsb.workloads.CoreWorkload;

/**
 * YCSB's core workload, which notes at its end how many records the table has now.
 *
 * <p>A later run would otherwise insert the same records once more, and would find those that it has not yet written.
 */
public final class CountedWorkload extends CoreWorkload {
  private static RecordTable table;

  private boolean loads;

  /** Names the table of the workload, which YCSB constructs by its name. */
  static void use(RecordTable used) {
    table = used;
  }

  @Override
  public void init(Properties properties) throws WorkloadException {
    super.init(properties);
    loads = !Boolean.parseBoolean(properties.getProperty(Client.DO_TRANSACTIONS_PROPERTY));
  }

  @Override
  public void cleanup() throws WorkloadException {
    super.cleanup();
    if (loads && RecordDatabase.hasFailed()) {
      return;
    }
    try {
      table.storeRecords(loads ? recordcount : transactioninsertkeysequence.lastValue() + 1);
    } catch (AccumuloException | AccumuloSecurityException e) {
      throw new WorkloadException(e);
    }
  }
}

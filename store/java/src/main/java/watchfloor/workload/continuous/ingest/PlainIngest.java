package watchfloor.workload.continuous.ingest;

import java.util.Map;
import java.util.SplittableRandom;
import org.apache.accumulo.core.client.BatchWriter;
import org.apache.accumulo.core.data.Mutation;
import watchfloor.workload.Job;
import watchfloor.workload.Workload;
import watchfloor.workload.continuous.EntryFormat;

/**
 * Writes entries of the same sizes as {@code Ingest} in the plainest loop: random rows, one value, nothing linked, no
 * flush but the last. It tells what the client library and the servers can do.
 */
public final class PlainIngest implements Workload {
  private static final int VALUE_BYTES = 71;
  private static final int CHECK_EVERY = 4096;

  @Override
  public void run(Job job) throws Exception {
    SplittableRandom random = new SplittableRandom(job.number("seed"));
    byte[] value = new byte[VALUE_BYTES];
    random.nextBytes(value);
    long entries = job.number("entries");
    long written = 0;
    job.tell(Map.of("at", System.currentTimeMillis()));
    try (BatchWriter writer = Ingest.open(job, 1)) {
      for (; written < entries && (written % CHECK_EVERY != 0 || !job.isStopping()); written++) {
        Mutation mutation = new Mutation(EntryFormat.row(random.nextLong() & Long.MAX_VALUE), 96 + VALUE_BYTES);
        mutation.put(EntryFormat.column(random.nextInt(1 << 15)), EntryFormat.column(random.nextInt(1 << 15)), value);
        writer.addMutation(mutation);
      }
    }
    job.tell(Map.of("entries", written, "flush", System.currentTimeMillis()));
  }
}

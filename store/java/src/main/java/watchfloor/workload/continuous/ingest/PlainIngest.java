package watchfloor.workload.continuous.ingest;

import java.util.Map;
import java.util.SplittableRandom;
import java.util.zip.CRC32;
import org.apache.accumulo.core.client.BatchWriter;
import org.apache.accumulo.core.data.Mutation;
import watchfloor.workload.Job;
import watchfloor.workload.Workload;
import watchfloor.workload.continuous.EntryFormat;

/**
 * Writes entries of the same form as {@code Ingest} in the plainest loop: the rows to which they point are random, and
 * there is no flush but the last. It tells what the client library and the servers can do with such entries; one value
 * for all would be compressed to nothing.
 */
public final class PlainIngest implements Workload {
  private static final int CHECK_EVERY = 4096;

  @Override
  public void run(Job job) throws Exception {
    SplittableRandom random = new SplittableRandom(job.number("seed"));
    byte[] uuid = EntrySource.drawUuid(random);
    // The first round of a block points to nothing.
    int rounds = job.whole("depth") + 1;
    boolean hasChecksums = job.flag("checksums");
    long entries = job.number("entries");
    long written = 0;
    job.tell(Map.of("at", System.currentTimeMillis()));
    try (BatchWriter writer = Ingest.open(job, 1)) {
      for (; written < entries && (written % CHECK_EVERY != 0 || !job.isStopping()); written++) {
        byte[] previous = written % rounds == 0 ? null : EntryFormat.row(random.nextLong() & Long.MAX_VALUE);
        byte[] value = EntryFormat.value(uuid, written, previous, null, hasChecksums ? new CRC32() : null);
        Mutation mutation = new Mutation(EntryFormat.row(random.nextLong() & Long.MAX_VALUE), 96 + value.length);
        mutation.put(EntryFormat.column(random.nextInt(1 << 15)), EntryFormat.column(random.nextInt(1 << 15)), value);
        writer.addMutation(mutation);
      }
    }
    job.tell(Map.of("entries", written, "flush", System.currentTimeMillis()));
  }
}

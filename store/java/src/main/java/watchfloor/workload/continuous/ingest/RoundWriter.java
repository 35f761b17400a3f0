package watchfloor.workload.continuous.ingest;

import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.apache.accumulo.core.client.BatchWriter;
import org.apache.accumulo.core.client.MutationsRejectedException;

/** Writes the rounds of its own blocks of lists with its own BatchWriter, and flushes after each in the background. */
final class RoundWriter implements AutoCloseable {
  private final LinkedLists lists;
  private final BatchWriter writer;
  private final ExecutorService flusher = Executors.newSingleThreadExecutor();
  private Future<Long> flush;
  private long began;
  private long unflushed;

  RoundWriter(LinkedLists lists, BatchWriter writer) {
    this.lists = lists;
    this.writer = writer;
  }

  /** Writes one round and begins its flush. Returns the number of entries. */
  long writeRound() throws MutationsRejectedException {
    lists.beginRound();
    for (; lists.hasNext(); unflushed++) {
      writer.addMutation(lists.next());
    }
    began = System.currentTimeMillis();
    flush =
        flusher.submit(
            () -> {
              writer.flush();
              return System.currentTimeMillis();
            });
    return unflushed;
  }

  /** Waits for the flush that was begun. Returns what it flushed and when; null if none was begun. */
  Flush finishFlush() throws Exception {
    if (flush == null) {
      return null;
    }
    try {
      return new Flush(began, flush.get(), unflushed);
    } catch (ExecutionException e) {
      throw e.getCause() instanceof Exception cause ? cause : e;
    } finally {
      flush = null;
      unflushed = 0;
    }
  }

  @Override
  public void close() throws MutationsRejectedException {
    flusher.shutdown();
    writer.close();
  }

  /** A flush: when it began and ended (epoch milliseconds), and the entries that it made durable. */
  record Flush(long began, long ended, long entries) {}
}

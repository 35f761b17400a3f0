package watchfloor.bridge.scan;

import java.util.List;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.apache.accumulo.core.client.IteratorSetting;
import org.apache.accumulo.core.client.ScannerBase;
import watchfloor.bridge.Connection;
import watchfloor.bridge.Threads;

/** The settings that all scanners have in common. */
final class Scans {
  /**
   * The time after which a server sends the entries that it has found, though its batch is not full. Without it a
   * filter that few events pass would hold its first hits back until it has found many.
   */
  private static final long PARTIAL_BATCH_MILLIS = 100;

  /**
   * The time after closing in which a thread that reads a scan is not interrupted. By then the server has answered
   * (after a second at most, with or without a hit, and somewhat later if it is busy), and the thread ends by itself. A
   * thread that is interrupted in a request would lose the ID of its session, which would stay open on the server until
   * it has been idle for too long.
   */
  private static final long PEACE_SECONDS = 5;

  private Scans() {}

  /** Interrupts a thread whose scan is closed, if it does not end by itself. */
  static void interruptLater(Future<?> thread) {
    Threads.LATER.schedule(() -> thread.cancel(true), PEACE_SECONDS, TimeUnit.SECONDS);
  }

  /** Sets a scanner's time-outs and iterators, and returns it. */
  static ScannerBase prepared(Connection connection, ScannerBase scanner, List<IteratorSetting> iterators) {
    scanner.setBatchTimeout(PARTIAL_BATCH_MILLIS, TimeUnit.MILLISECONDS);
    scanner.setTimeout(connection.scanSeconds(), TimeUnit.SECONDS);
    iterators.forEach(scanner::addScanIterator);
    return scanner;
  }
}

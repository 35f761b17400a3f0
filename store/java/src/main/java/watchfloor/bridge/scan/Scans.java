package watchfloor.bridge.scan;

import java.util.List;
import java.util.concurrent.TimeUnit;
import org.apache.accumulo.core.client.IteratorSetting;
import org.apache.accumulo.core.client.ScannerBase;
import watchfloor.bridge.Connection;

/** The settings that all scanners have in common. */
final class Scans {
  /**
   * The time after which a server sends the entries that it has found, though its batch is not full. Without it a
   * filter that few events pass would hold its first hits back until it has found many.
   */
  private static final long PARTIAL_BATCH_MILLIS = 100;

  private Scans() {}

  /** Sets a scanner's time-outs and iterators, and returns it. */
  static ScannerBase prepared(Connection connection, ScannerBase scanner, List<IteratorSetting> iterators) {
    scanner.setBatchTimeout(PARTIAL_BATCH_MILLIS, TimeUnit.MILLISECONDS);
    scanner.setTimeout(connection.scanSeconds(), TimeUnit.SECONDS);
    iterators.forEach(scanner::addScanIterator);
    return scanner;
  }
}

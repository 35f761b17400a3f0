package watchfloor.bridge.scan;

import java.util.List;
import java.util.concurrent.TimeUnit;
import org.apache.accumulo.core.client.IteratorSetting;
import org.apache.accumulo.core.client.ScannerBase;
import watchfloor.bridge.Connection;

/** Settings that all scanners have in common. */
final class Scans {
  /**
   * A server that has found something sends it after this, though its batch is not full: a filter that few events pass
   * would otherwise keep its first hits back until it has found many.
   */
  private static final long PARTIAL_BATCH_MILLIS = 100;

  private Scans() {}

  static ScannerBase prepared(Connection connection, ScannerBase scanner, List<IteratorSetting> iterators) {
    scanner.setBatchTimeout(PARTIAL_BATCH_MILLIS, TimeUnit.MILLISECONDS);
    scanner.setTimeout(connection.scanSeconds(), TimeUnit.SECONDS);
    iterators.forEach(scanner::addScanIterator);
    return scanner;
  }
}

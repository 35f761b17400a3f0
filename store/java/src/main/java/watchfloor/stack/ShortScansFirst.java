package watchfloor.stack;

import java.util.Comparator;
import org.apache.accumulo.core.spi.scan.ScanInfo;
import org.apache.accumulo.core.spi.scan.ScanPrioritizer;

/**
 * Orders the scans that wait for a thread of a tablet server: by the time of their arrival, to which each second that a
 * scan has run adds {@link #LATER} seconds. A look-up thus does not wait for long scans, and no scan waits for ever.
 *
 * <p>Accumulo's IdleRatioScanPrioritizer has the same aim. It computes the idle time up to a moment that it noted just
 * before; if the scan has run once more since then, the scan fails.
 */
public final class ShortScansFirst implements ScanPrioritizer {
  private static final long LATER = 20;

  @Override
  public Comparator<ScanInfo> createComparator(CreateParameters parameters) {
    return Comparator.comparingLong(ShortScansFirst::turn);
  }

  /** Returns the time, in milliseconds, by which waiting scans are ordered. */
  static long turn(ScanInfo scan) {
    return scan.getCreationTime() + LATER * scan.getRunTimeStats().sum();
  }
}

package watchfloor.stack;

import java.util.Comparator;
import org.apache.accumulo.core.spi.scan.ScanInfo;
import org.apache.accumulo.core.spi.scan.ScanPrioritizer;

/**
 * Which of the scans that wait for a thread of a tablet server goes first: the one that came first, where each second
 * that a scan has run makes it some seconds later. So a look-up does not wait for long scans, and none of these waits
 * for ever.
 *
 * <p>Accumulo's IdleRatioScanPrioritizer has the same aim. It asks how long a scan has been idle up to a time that it has
 * taken note of just before, and where the scan has run once more meanwhile that fails the scan.
 */
public final class ShortScansFirst implements ScanPrioritizer {
  private static final long LATER = 20;

  @Override
  public Comparator<ScanInfo> createComparator(CreateParameters parameters) {
    return Comparator.comparingLong(ShortScansFirst::turn);
  }

  /** In milliseconds. */
  static long turn(ScanInfo scan) {
    return scan.getCreationTime() + LATER * scan.getRunTimeStats().sum();
  }
}

package watchfloor.bridge.scan;

import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;

/** How many events the readers of an ordered scan's ranges should still read ahead. Several threads may use it. */
final class Demand {
  /** The share of the limit that is read in addition, because not all of what is read may be handed out at once. */
  private static final double SPARE = 0.25;

  private final boolean isLimited;
  private final int ranges;
  private final AtomicLong wanted;
  /** The ranges of which no answer has come yet. */
  private final AtomicInteger unanswered;

  /** Makes the demand of a scan of some ranges for the newest {@code limit} events; for all if it is null. */
  Demand(Integer limit, int ranges) {
    isLimited = limit != null;
    this.ranges = ranges;
    wanted = new AtomicLong(isLimited ? withSpare(limit) : 0);
    unanswered = new AtomicInteger(ranges);
  }

  /** Returns how many events are read for a limit. */
  static long withSpare(int limit) {
    return Math.round(limit * (1 + SPARE));
  }

  boolean isLimited() {
    return isLimited;
  }

  /** Notes that a range has its first answer, or ends without one. */
  void beAnswered() {
    unanswered.decrementAndGet();
  }

  void take(int events) {
    wanted.addAndGet(-events);
  }

  /** Returns the events of a range's part of what is wanted. */
  double share() {
    return (double) wanted.get() / ranges;
  }

  /**
   * Returns whether more events are wanted if each range that has not answered has an answer with so many; always true
   * without a limit.
   */
  boolean isMoreWanted(double perAnswer) {
    return !isLimited || wanted.get() > perAnswer * unanswered.get();
  }
}

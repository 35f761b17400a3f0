package watchfloor.bridge.scan;

import java.util.stream.IntStream;

/**
 * Foresees from the first answer of each range of a scan which ranges have the next ones. Events are often written in
 * the order of their time, so that one range has many of the newest answers and others have none.
 */
final class Foresight {
  /** The time of an answer that does not exist. */
  static final long NONE = Long.MIN_VALUE;

  private Foresight() {}

  /**
   * Returns how many of the newest {@code answers} of all ranges each range has after its first one.
   *
   * @param first the time of each range's first answer in microseconds; {@link #NONE} if it has none
   * @param second the time of its second one; {@link #NONE} if it has none
   * @param spans the microseconds that the events of the second one span: each later answer is taken to be older than
   *     the one before by as much
   */
  static int[] foresee(int answers, long[] first, long[] second, long[] spans) {
    long[] next = first.clone();
    int[] counts = new int[next.length];
    for (int i = 0; i < answers; i++) {
      int newest = IntStream.range(0, next.length).reduce((a, b) -> next[b] > next[a] ? b : a).orElseThrow();
      if (next[newest] == NONE) {
        break;
      }
      boolean isThere = second[newest] != NONE && next[newest] >= NONE + spans[newest];
      long later = counts[newest] == 0 ? second[newest] : next[newest] - spans[newest];
      next[newest] = isThere ? later : NONE;
      counts[newest]++;
    }
    return IntStream.of(counts).map(count -> Math.max(0, count - 1)).toArray();
  }
}

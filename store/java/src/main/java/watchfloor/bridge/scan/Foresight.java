package watchfloor.bridge.scan;

import java.util.stream.IntStream;

/**
 * Foresees from what the ranges of a scan have answered first which ranges have the next answers. Events are often
 * written in the order of their time, so that one range has many of the newest answers and others have none.
 */
final class Foresight {
  /** The time of an answer that does not exist. */
  static final long NONE = Long.MIN_VALUE;

  private Foresight() {}

  /**
   * Returns how many of the newest {@code answers} of all ranges each range has beside the one that it has given.
   *
   * @param given the time of the answer that each range has given, in microseconds; {@link #NONE} if it has given none
   * @param next the time of its next one; {@link #NONE} if it has no further one
   * @param spans the microseconds that the events of the next one span: each later answer is taken to be older than the
   *     one before by as much
   */
  static int[] foresee(int answers, long[] given, long[] next, long[] spans) {
    int[] more = new int[next.length];
    boolean[] isGiven = new boolean[next.length];
    long[] newest = next.clone();
    for (int i = 0; i < given.length; i++) {
      isGiven[i] = given[i] != NONE;
      newest[i] = isGiven[i] ? given[i] : next[i];
    }
    for (int counted = 0; counted < answers; counted++) {
      int i = IntStream.range(0, newest.length).reduce((a, b) -> newest[b] > newest[a] ? b : a).orElseThrow();
      if (newest[i] == NONE) {
        break;
      }
      if (isGiven[i]) {
        isGiven[i] = false;
        newest[i] = next[i];
      } else {
        more[i]++;
        newest[i] = newest[i] >= NONE + spans[i] ? newest[i] - spans[i] : NONE;
      }
    }
    return more;
  }
}

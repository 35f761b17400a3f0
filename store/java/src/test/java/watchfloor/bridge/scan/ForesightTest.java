package watchfloor.bridge.scan;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;

import org.junit.jupiter.api.Test;

class ForesightTest {
  private static final long NONE = Foresight.NONE;

  private static long[] times(long... times) {
    return times;
  }

  @Test
  void rangesThatLieSideBySideShareTheNextAnswers() {
    int[] foreseen = Foresight.foresee(8, times(100, 99, 98, 97), times(90, 89, 88, 87), times(10, 10, 10, 10));
    assertArrayEquals(new int[] {1, 1, 1, 1}, foreseen);
  }

  @Test
  void theRangeWhoseAnswersAreNewestHasTheNextOnes() {
    long[] first = times(100, 40, 30);
    long[] second = times(90, 35, 20);
    long[] spans = times(10, 5, 10);
    assertArrayEquals(new int[] {5, 0, 0}, Foresight.foresee(6, first, second, spans));
    assertArrayEquals(new int[] {6, 1, 0}, Foresight.foresee(9, first, second, spans));
  }

  @Test
  void aFirstAnswerThatIsNewEnoughCountsAsOneOfTheWanted() {
    assertArrayEquals(new int[] {0, 0}, Foresight.foresee(2, times(100, 99), times(50, 49), times(1, 1)));
    assertArrayEquals(new int[] {0, 0}, Foresight.foresee(0, times(100, 99), times(50, 49), times(1, 1)));
  }

  @Test
  void rangesThatHaveGivenNothingHaveAllOfTheirs() {
    long[] given = times(100, NONE, NONE);
    long[] next = times(90, 95, 30);
    assertArrayEquals(new int[] {0, 1, 0}, Foresight.foresee(2, given, next, times(10, 20, 10)));
    assertArrayEquals(new int[] {1, 2, 0}, Foresight.foresee(4, given, next, times(20, 20, 10)));
  }

  @Test
  void rangesWithoutAFurtherAnswerHaveNone() {
    assertArrayEquals(new int[] {0, 0}, Foresight.foresee(9, times(100, NONE), times(NONE, NONE), times(0, 0)));
    assertArrayEquals(new int[] {0, 8}, Foresight.foresee(10, times(100, 80), times(NONE, 70), times(0, 0)));
    assertArrayEquals(new int[] {0, 1}, Foresight.foresee(9, times(5, NONE + 10), times(NONE, NONE + 5), times(0, 7)));
  }
}

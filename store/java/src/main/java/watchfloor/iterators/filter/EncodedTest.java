package watchfloor.iterators.filter;

import watchfloor.iterators.BigEndian;
import watchfloor.iterators.expression.ValueTest;

/** A condition as a test of an expression's values. Intervals and members are compared as numbers. */
final class EncodedTest implements ValueTest.Test {
  private final Condition condition;
  /** The condition's interval; null if it is none or if it is empty. */
  private final long[] interval;
  private final byte[] encoded = new byte[Long.BYTES];

  EncodedTest(Condition condition) {
    this.condition = condition;
    interval = condition instanceof Condition.Interval ? ((Condition.Interval) condition).numbers(Long.BYTES) : null;
  }

  @Override
  public boolean test(byte[] bytes, int from, int to) {
    return condition.test(bytes, from, to);
  }

  @Override
  public boolean test(long number) {
    if (condition instanceof Condition.Interval) {
      return interval != null && Long.compareUnsigned(number - interval[0], interval[1] - interval[0]) <= 0;
    }
    BigEndian.putLong(encoded, 0, number);
    return condition.test(encoded, 0, Long.BYTES);
  }
}

package watchfloor.iterators.filter;

import static java.nio.charset.StandardCharsets.UTF_8;

import com.google.re2j.Pattern;
import java.util.Arrays;

/** A condition on one encoded value. */
public abstract class Condition {
  /** Returns whether the bytes [from, to) satisfy the condition. */
  public abstract boolean test(byte[] bytes, int from, int to);

  /** Returns whether all, none or possibly some of the values within bounds satisfy the condition. */
  public Verdict within(ValueBounds bounds) {
    return Verdict.SOME;
  }

  /** Values between two others, either of which may be missing. */
  public static class Interval extends Condition {
    private final byte[] low;
    private final byte[] high;
    // An order of 0 is within an inclusive bound, so each bound needs one comparison of the order.
    private final int lowest;
    private final int highest;

    /** Makes an interval. A null bound does not limit it. */
    public Interval(byte[] low, boolean lowInclusive, byte[] high, boolean highInclusive) {
      this.low = low;
      this.high = high;
      lowest = lowInclusive ? 0 : 1;
      highest = highInclusive ? 0 : -1;
    }

    @Override
    public boolean test(byte[] bytes, int from, int to) {
      return notBelow(bytes, from, to) && notAbove(bytes, from, to);
    }

    /** Returns whether a value is not before the interval. */
    public final boolean notBelow(byte[] bytes, int from, int to) {
      return low == null
          || Integer.signum(Arrays.compareUnsigned(bytes, from, to, low, 0, low.length)) >= lowest;
    }

    /** Returns whether a value is not after the interval. */
    public final boolean notAbove(byte[] bytes, int from, int to) {
      return high == null
          || Integer.signum(Arrays.compareUnsigned(bytes, from, to, high, 0, high.length)) <= highest;
    }

    @Override
    public Verdict within(ValueBounds bounds) {
      if ((low != null && bounds.compareMax(low) < lowest) || (high != null && bounds.compareMin(high) > highest)) {
        return Verdict.NONE;
      }
      boolean all =
          (low == null || bounds.compareMin(low) >= lowest) && (high == null || bounds.compareMax(high) <= highest);
      return all ? Verdict.ALL : Verdict.SOME;
    }

    /** Returns the interval for values of {@code width} bytes as unsigned numbers, {first, last}; null if it is empty. */
    public final long[] numbers(int width) {
      long greatest = -1L >>> (Long.SIZE - width * 8);
      long first = 0;
      if (low != null) {
        first = leading(low, width);
        // A longer bound is greater than its leading bytes; a shorter one is less than all values that begin with it.
        if (low.length > width || (low.length == width && lowest > 0)) {
          if (first == greatest) {
            return null;
          }
          first++;
        }
      }
      long last = greatest;
      if (high != null) {
        last = leading(high, width);
        if (high.length < width || (high.length == width && highest < 0)) {
          if (last == 0) {
            return null;
          }
          last--;
        }
      }
      return Long.compareUnsigned(first, last) <= 0 ? new long[] {first, last} : null;
    }

    private static long leading(byte[] value, int width) {
      long number = 0;
      for (int i = 0; i < width; i++) {
        number = number << 8 | (i < value.length ? value[i] & 0xFF : 0);
      }
      return number;
    }
  }

  /** One value: the interval from it to itself. */
  public static final class Equal extends Interval {
    public final byte[] value;

    public Equal(byte[] value) {
      super(value, true, value, true);
      this.value = value;
    }

    @Override
    public boolean test(byte[] bytes, int from, int to) {
      return Arrays.equals(bytes, from, to, value, 0, value.length);
    }
  }

  /** One of several values. */
  public static final class Member extends Condition {
    /** Ascending. */
    public final byte[][] values;

    public Member(byte[][] values) {
      this.values = values.clone();
      Arrays.sort(this.values, Arrays::compareUnsigned);
    }

    @Override
    public boolean test(byte[] bytes, int from, int to) {
      int low = 0;
      int high = values.length - 1;
      while (low <= high) {
        int middle = (low + high) >>> 1;
        byte[] value = values[middle];
        int order = Arrays.compareUnsigned(bytes, from, to, value, 0, value.length);
        if (order == 0) {
          return true;
        }
        if (order < 0) {
          high = middle - 1;
        } else {
          low = middle + 1;
        }
      }
      return false;
    }

    @Override
    public Verdict within(ValueBounds bounds) {
      int low = 0;
      int high = values.length;
      while (low < high) {
        int middle = (low + high) >>> 1;
        if (bounds.compareMin(values[middle]) > 0) {
          low = middle + 1;
        } else {
          high = middle;
        }
      }
      if (low == values.length || bounds.compareMax(values[low]) < 0) {
        return Verdict.NONE;
      }
      boolean one = bounds.compareMin(values[low]) == 0 && bounds.compareMax(values[low]) == 0;
      return one ? Verdict.ALL : Verdict.SOME;
    }

    /** Returns the values of {@code width} bytes as numbers, sign bit flipped, so that they ascend as signed numbers. */
    public long[] numbers(int width) {
      return Arrays.stream(values)
          .filter(value -> value.length == width)
          .mapToLong(
              value -> {
                long number = 0;
                for (byte b : value) {
                  number = number << 8 | b & 0xFF;
                }
                return number ^ Long.MIN_VALUE;
              })
          .toArray();
    }
  }

  /** One of the values of a set. */
  public static final class Listed extends Condition {
    private final ValueSet set;

    public Listed(ValueSet set) {
      this.set = set;
    }

    @Override
    public boolean test(byte[] bytes, int from, int to) {
      return set.contains(bytes, from, to);
    }

    @Override
    public Verdict within(ValueBounds bounds) {
      return set.within(bounds);
    }

    /** Returns the least value that satisfies the condition and is not less than the bytes [from, to); null if none. */
    public byte[] next(byte[] bytes, int from, int to) {
      return set.next(bytes, from, to);
    }
  }

  /** Text in which a pattern is found. */
  public static final class Match extends Condition {
    private final Pattern pattern;
    /** A literal that the text must contain; null if none is known. */
    private final RequiredLiteral literal;

    public Match(Pattern pattern) {
      this.pattern = pattern;
      literal = pattern.flags() == 0 ? RequiredLiteral.of(pattern.pattern()) : null;
    }

    /** Returns the literal that all values contain which satisfy the condition; null if none is known. */
    public RequiredLiteral literal() {
      return literal;
    }

    @Override
    public boolean test(byte[] bytes, int from, int to) {
      if (literal != null && !literal.isIn(bytes, from, to)) {
        return false;
      }
      return literal != null && literal.isWhole() || finds(Arrays.copyOfRange(bytes, from, to));
    }

    private boolean finds(byte[] value) {
      for (byte b : value) {
        if (b < 0) {
          // In bytes, RE2/J takes each position after a character of several bytes for the beginning of the text.
          return pattern.matcher(new String(value, UTF_8)).find();
        }
      }
      return pattern.matcher(value).find();
    }
  }
}

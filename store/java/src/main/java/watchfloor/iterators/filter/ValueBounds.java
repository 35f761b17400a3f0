package watchfloor.iterators.filter;

import java.util.Arrays;

/** The least and the greatest of some encoded values. Conditions are evaluated on them before values are read. */
public final class ValueBounds {
  private byte[] bytes;
  private int minFrom;
  private int minTo;
  private int maxFrom;
  private int maxTo;
  private boolean maxIsCut;

  /**
   * Sets the bounds to parts of an array.
   *
   * @param maxIsCut true if greater values that begin with the maximum are within the bounds too
   */
  public void set(byte[] bytes, int minFrom, int minTo, int maxFrom, int maxTo, boolean maxIsCut) {
    this.bytes = bytes;
    this.minFrom = minFrom;
    this.minTo = minTo;
    this.maxFrom = maxFrom;
    this.maxTo = maxTo;
    this.maxIsCut = maxIsCut;
  }

  /** Returns -1, 0 or 1 if the minimum is less than, equal to or greater than a value. */
  public int compareMin(byte[] value) {
    return Integer.signum(Arrays.compareUnsigned(bytes, minFrom, minTo, value, 0, value.length));
  }

  /** Returns -1, 0 or 1 if the greatest possible value is less than, equal to or greater than a value. */
  public int compareMax(byte[] value) {
    int length = maxIsCut ? Math.min(value.length, maxTo - maxFrom) : value.length;
    int order = Integer.signum(Arrays.compareUnsigned(bytes, maxFrom, maxTo, value, 0, length));
    return maxIsCut && order == 0 ? 1 : order;
  }
}

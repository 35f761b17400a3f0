package watchfloor.workload.continuous.ingest;

import java.util.Arrays;
import java.util.SplittableRandom;

/** Sizes that are Zipf distributed: {@code least + k} with k in 1..n of a probability proportional to k^-exponent. */
final class ZipfSizes {
  private final int least;
  private final double[] cumulative;

  ZipfSizes(int least, int most, double exponent) {
    if (least < 0 || most <= least) {
      throw new IllegalArgumentException("the sizes of values go from " + least + " to " + most + ", which is no range");
    }
    this.least = least;
    cumulative = new double[most - least];
    double sum = 0;
    for (int k = 1; k <= cumulative.length; k++) {
      sum += Math.pow(k, -exponent);
      cumulative[k - 1] = sum;
    }
  }

  int draw(SplittableRandom random) {
    int found = Arrays.binarySearch(cumulative, random.nextDouble() * cumulative[cumulative.length - 1]);
    int rank = found < 0 ? -found - 1 : found;
    return least + 1 + Math.min(rank, cumulative.length - 1);
  }
}

package watchfloor.iterators.expression.text;

import static java.nio.charset.StandardCharsets.UTF_8;

/**
 * Shannon's entropy of text. Python's {@code schema/filter/expressions/entropy.py} takes the same steps, of which each is
 * rounded in one way, so that both find the same number. One thread may use an object at a time.
 */
public final class Entropy {
  /** The terms of the logarithm's series. */
  private static final int TERMS = 22;

  private static final int ASCII = 128;

  /** Logarithms of small numbers that have been computed; 0 for others. */
  private final double[] known = new double[4096];

  /** By ASCII character how often it is in the text; 0 between two texts. */
  private final int[] counts = new int[ASCII];

  /** By count the number of characters that are so often in the text; 0 between two texts. */
  private int[] alike = new int[64];

  private int most;
  private int distinct;

  /** Returns the entropy of the characters in [from, to), which is UTF-8, in bits per character; 0 for empty text. */
  public double measure(byte[] bytes, int from, int to) {
    most = 0;
    distinct = 0;
    int length = to - from;
    if (alike.length <= length) {
      alike = new int[length + 1];
    }
    boolean isAscii = true;
    for (int i = from; i < to; i++) {
      isAscii &= bytes[i] >= 0;
    }
    if (!isAscii) {
      int[] codes = new String(bytes, from, length, UTF_8).codePoints().sorted().toArray();
      for (int i = 0, first = 0; i < codes.length; i++) {
        if (i + 1 == codes.length || codes[i + 1] != codes[i]) {
          add(i + 1 - first);
          first = i + 1;
        }
      }
      return sum(codes.length);
    }
    for (int i = from; i < to; i++) {
      counts[bytes[i]]++;
    }
    for (int i = from; i < to; i++) {
      int count = counts[bytes[i]];
      if (count > 0) {
        add(count);
        counts[bytes[i]] = 0;
      }
    }
    return sum(length);
  }

  /** Notes a character that is so often in the text. */
  private void add(int count) {
    alike[count]++;
    most = Math.max(most, count);
    distinct++;
  }

  private double sum(int characters) {
    double total = 0;
    for (int count = 1; count <= most; count++) {
      if (alike[count] > 0) {
        total += (double) (alike[count] * count) * log2(count);
        alike[count] = 0;
      }
    }
    return distinct < 2 ? 0 : log2(characters) - total / characters;
  }

  private double log2(int number) {
    if (number >= known.length) {
      return computeLog2(number);
    }
    if (known[number] == 0) {
      known[number] = computeLog2(number);
    }
    return known[number];
  }

  private static double computeLog2(int number) {
    int exponent = Integer.SIZE - 1 - Integer.numberOfLeadingZeros(number);
    double fraction = number / (double) (1L << exponent);
    // ln(x) = 2 (s + s³/3 + s⁵/5 + …) with s = (x - 1) / (x + 1)
    double s = (fraction - 1) / (fraction + 1);
    double square = s * s;
    double total = 0;
    for (int term = TERMS; term >= 0; term--) {
      total = total * square + 1.0 / (2 * term + 1);
    }
    return exponent + 2 * s * total / 0.6931471805599453;
  }
}

package watchfloor.iterators.expression.text;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.util.Arrays;

/**
 * Shannon's entropy of text. Python's {@code schema/filter/expressions/entropy.py} takes the same steps, of which each is
 * rounded in one way, so that both find the same number.
 */
public final class Entropy {
  /** The terms of the logarithm's series. */
  private static final int TERMS = 22;

  /** Logarithms that have been computed; 0 for others. A thread may compute one again that another has just set. */
  private static final double[] KNOWN = new double[4096];

  private static final int ASCII = 128;

  private Entropy() {}

  /** Returns the entropy of the characters in [from, to), which is UTF-8, in bits per character; 0 for empty text. */
  public static double of(byte[] bytes, int from, int to) {
    int[] counts = new int[ASCII];
    for (int i = from; i < to; i++) {
      if (bytes[i] < 0) {
        return of(countOthers(new String(bytes, from, to - from, UTF_8)));
      }
      counts[bytes[i]]++;
    }
    return of(counts);
  }

  /** Returns how often each character is in a text. */
  private static int[] countOthers(String text) {
    int[] codes = text.codePoints().sorted().toArray();
    int[] counts = new int[codes.length];
    for (int i = 0, at = 0; i < codes.length; i++) {
      at += i > 0 && codes[i] != codes[i - 1] ? 1 : 0;
      counts[at]++;
    }
    return counts;
  }

  private static double of(int[] counts) {
    Arrays.sort(counts);
    int characters = 0;
    int distinct = 0;
    double sum = 0;
    for (int count : counts) {
      if (count > 0) {
        characters += count;
        distinct++;
        sum += count * log2(count);
      }
    }
    return distinct < 2 ? 0 : log2(characters) - sum / characters;
  }

  static double log2(int number) {
    if (number >= KNOWN.length) {
      return compute(number);
    }
    double known = KNOWN[number];
    if (known == 0) {
      known = compute(number);
      KNOWN[number] = known;
    }
    return known;
  }

  private static double compute(int number) {
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

package watchfloor.iterators.expression.text;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.util.Set;

/**
 * The registered domains of hosts' names, by rules of public suffixes: the public suffix and the label before it.
 *
 * <p>A rule is a suffix, {@code *.} and a suffix for all names right under it, or {@code !} and an exception to such a
 * rule. Python's {@code schema/filter/expressions/domains.py} has the same steps.
 */
public final class RegisteredDomains {
  private final Set<String> rules;
  private final LowerCase lowerCase;
  private final int most;

  /** @param table the rules, a line each */
  public RegisteredDomains(byte[] table, LowerCase lowerCase) {
    rules = Set.of(new String(table, UTF_8).split("\n"));
    this.lowerCase = lowerCase;
    most = rules.stream().mapToInt(rule -> (int) rule.chars().filter(c -> c == '.').count() + 1).max().orElse(1);
  }

  /** Returns the registered domain of the name in [from, to), in lower case and in UTF-8; null if it has none. */
  public byte[] find(byte[] bytes, int from, int to) {
    String name = new String(lowerCase.toLower(bytes, from, to), UTF_8);
    if (name.endsWith(".")) {
      name = name.substring(0, name.length() - 1);
    }
    if (!isName(name)) {
      return null;
    }
    int suffix = findSuffix(name);
    if (suffix == 0) {
      return null;
    }
    // The suffix has a dot before it.
    return name.substring(name.lastIndexOf('.', suffix - 2) + 1).getBytes(UTF_8);
  }

  /** Returns whether a text is a name of labels, none of them empty, of which the last is no number. */
  private static boolean isName(String name) {
    boolean onlyDigits = true;
    int label = 0;
    for (int i = 0; i < name.length(); i++) {
      char c = name.charAt(i);
      if (c == '.') {
        if (label == 0) {
          return false;
        }
        label = 0;
        onlyDigits = true;
        continue;
      }
      boolean isDigit = c >= '0' && c <= '9';
      if (c < 0x80 && !isDigit && (c < 'a' || c > 'z') && c != '-' && c != '_') {
        return false;
      }
      onlyDigits &= isDigit;
      label++;
    }
    return label > 0 && !onlyDigits;
  }

  /** Returns where the public suffix of a name begins. */
  private int findSuffix(String name) {
    int last = name.lastIndexOf('.') + 1;
    int[] starts = new int[most + 1];
    int labels = 0;
    for (int start = last; ; start = name.lastIndexOf('.', start - 2) + 1) {
      starts[labels++] = start;
      if (start == 0 || labels == starts.length) {
        break;
      }
    }
    for (int i = Math.min(labels, most) - 1; i >= 0; i--) {
      String suffix = name.substring(starts[i]);
      if (rules.contains("!" + suffix)) {
        return starts[Math.max(0, i - 1)];
      }
      if (rules.contains("*." + suffix)) {
        return starts[Math.min(i + 1, labels - 1)];
      }
      if (rules.contains(suffix)) {
        return starts[i];
      }
    }
    return last;
  }
}

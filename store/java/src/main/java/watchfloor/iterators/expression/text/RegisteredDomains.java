package watchfloor.iterators.expression.text;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.util.HashMap;
import java.util.Map;

/**
 * The registered domains of hosts' names, by rules of public suffixes: the public suffix and the label before it.
 *
 * <p>A rule is a suffix, {@code *.} and a suffix for all names right under it, or {@code !} and an exception to such a
 * rule. Python's {@code schema/filter/expressions/domains.py} has the same steps.
 */
public final class RegisteredDomains {
  private static final int EXACT = 1;
  private static final int WILDCARD = 2;
  private static final int EXCEPTION = 4;

  /** By suffix which rules there are for it; 0 if there are only rules for longer suffixes that end with it. */
  private final Map<String, Integer> rules = new HashMap<>();

  private final LowerCase lowerCase;

  /** @param table the rules, a line each */
  public RegisteredDomains(byte[] table, LowerCase lowerCase) {
    this.lowerCase = lowerCase;
    for (String rule : new String(table, UTF_8).split("\n")) {
      boolean isException = rule.startsWith("!");
      boolean isWildcard = rule.startsWith("*.");
      String suffix = rule.substring(isException ? 1 : isWildcard ? 2 : 0);
      rules.merge(suffix, isException ? EXCEPTION : isWildcard ? WILDCARD : EXACT, (one, other) -> one | other);
      for (int dot = suffix.indexOf('.'); dot >= 0; dot = suffix.indexOf('.', dot + 1)) {
        rules.putIfAbsent(suffix.substring(dot + 1), 0);
      }
    }
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

  /** Returns where the public suffix of a name begins: the rule with the longest suffix counts. */
  private int findSuffix(String name) {
    int found = name.lastIndexOf('.') + 1;
    int shorter = name.length();
    for (int start = found; ; ) {
      Integer here = rules.get(name.substring(start));
      if (here == null) {
        return found;
      }
      int longer = start == 0 ? 0 : name.lastIndexOf('.', start - 2) + 1;
      if ((here & EXCEPTION) != 0) {
        found = shorter;
      } else if ((here & WILDCARD) != 0) {
        found = longer;
      } else if ((here & EXACT) != 0) {
        found = start;
      }
      if (start == 0) {
        return found;
      }
      shorter = start;
      start = longer;
    }
  }
}

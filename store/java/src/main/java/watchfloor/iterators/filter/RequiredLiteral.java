package watchfloor.iterators.filter;

import java.nio.charset.StandardCharsets;
import java.util.Arrays;

/**
 * A text that is part of every value in which a pattern is found. Searching for it is cheaper than matching the
 * pattern, so most values need not be matched.
 *
 * <p>A pattern is read as a concatenation, at its top level only. Groups, classes and all other parts that can match
 * several texts separate the literals. A pattern with alternatives, flags or unknown syntax has no literal. The longest
 * literal is taken. Values are UTF-8.
 */
public final class RequiredLiteral {
  /** The flags of a wildcard's pattern: a dot is any character. They do not change literals. */
  private static final String FLAGS = "(?s)";
  /** The pattern around a wildcard that begins and ends with {@code *}. */
  private static final String BEFORE = FLAGS + "\\A.*";
  private static final String AFTER = ".*\\z";

  /** Escapes for one character of some kind or for a position, which take no further characters. */
  private static final String KINDS = "AbBdDfnrsStvwWz";
  private static final int NONE = -1;

  private final String pattern;
  private int at;
  /** The literal at the current position, so far. */
  private final StringBuilder run = new StringBuilder();
  private byte[] longest = {};
  private boolean whole = true;

  private RequiredLiteral(String pattern) {
    this.pattern = pattern;
  }

  /**
   * Returns the literal that a case-sensitive pattern requires; null if none is known.
   *
   * @param pattern that RE2 takes, without flags beside those in its text
   */
  static RequiredLiteral of(String pattern) {
    int middle = pattern.length() - BEFORE.length() - AFTER.length();
    if (middle > 0 && pattern.startsWith(BEFORE) && pattern.endsWith(AFTER)) {
      RequiredLiteral inner = new RequiredLiteral(pattern.substring(BEFORE.length(), BEFORE.length() + middle));
      if (inner.scan() && inner.whole) {
        return inner;
      }
    }
    RequiredLiteral literal = new RequiredLiteral(pattern);
    return literal.scan() ? literal : null;
  }

  /** Returns the literal in UTF-8; it is never empty. */
  public byte[] bytes() {
    return longest.clone();
  }

  /** Returns whether a value, the bytes [from, to), contains the literal. */
  boolean isIn(byte[] value, int from, int to) {
    byte[] bytes = longest;
    byte first = bytes[0];
    int last = to - bytes.length;
    for (int at = from; at <= last; at++) {
      if (value[at] == first && Arrays.equals(value, at, at + bytes.length, bytes, 0, bytes.length)) {
        return true;
      }
    }
    return false;
  }

  /** Returns whether the pattern is found in every text that contains the literal. */
  public boolean isWhole() {
    return whole;
  }

  /** Reads the pattern. Returns false if no literal can be told. */
  private boolean scan() {
    if (pattern.startsWith(FLAGS)) {
      at = FLAGS.length();
    }
    while (at < pattern.length()) {
      if (!step()) {
        return false;
      }
    }
    keepLongest();
    return longest.length > 0;
  }

  /** Moves past the next part of the pattern. Returns false if its end cannot be told. */
  private boolean step() {
    int c = pattern.codePointAt(at);
    int from = at;
    at += Character.charCount(c);
    switch (c) {
      case '\\':
        return escape();
      case '.':
      case '^':
      case '$':
      case '+':
        part();
        return true;
      case '*':
      case '?':
        return optional(at);
      case '{':
        return optional(endOfCount(at));
      case '[':
        part();
        return skipTo(endOfClass(from));
      case '(':
        part();
        return skipTo(endOfGroup(from));
      case '|':
      case ')':
        return false;
      default:
        run.appendCodePoint(c);
        return true;
    }
  }

  private boolean escape() {
    if (at == pattern.length()) {
      return false;
    }
    char c = pattern.charAt(at++);
    if (KINDS.indexOf(c) >= 0) {
      part();
      return true;
    }
    run.append(c);
    // An escaped letter or digit has another meaning, and may take further characters.
    return c > ' ' && c < 0x7F && !Character.isLetterOrDigit(c);
  }

  /** Drops the last character of the literal, as a quantifier makes it optional. */
  private boolean optional(int end) {
    if (run.length() > 0) {
      run.setLength(run.offsetByCodePoints(run.length(), -1));
    }
    part();
    return skipTo(end);
  }

  private boolean skipTo(int end) {
    at = end;
    return end != NONE;
  }

  /** Ends the current literal. */
  private void part() {
    keepLongest();
    run.setLength(0);
    whole = false;
  }

  private void keepLongest() {
    byte[] bytes = run.toString().getBytes(StandardCharsets.UTF_8);
    if (bytes.length > longest.length) {
      longest = bytes;
    }
  }

  /** Returns where {@code {n,m}} ends; braces with other characters are no count. */
  private int endOfCount(int from) {
    int i = from;
    while (i < pattern.length() && "0123456789,".indexOf(pattern.charAt(i)) >= 0) {
      i++;
    }
    return i < pattern.length() && pattern.charAt(i) == '}' ? i + 1 : NONE;
  }

  /** Returns where a character class ends that has no other in it. */
  private int endOfClass(int from) {
    int i = from + 1;
    i += pattern.startsWith("^", i) ? 1 : 0;
    // A bracket in first position is a member of the class.
    i += pattern.startsWith("]", i) ? 1 : 0;
    for (; i < pattern.length(); i++) {
      switch (pattern.charAt(i)) {
        case ']':
          return i + 1;
        case '[':
          return NONE;
        case '\\':
          i++;
          break;
        default:
      }
    }
    return NONE;
  }

  private int endOfGroup(int from) {
    if (setsFlags(from)) {
      return NONE;
    }
    int depth = 0;
    for (int i = from; i < pattern.length(); i++) {
      switch (pattern.charAt(i)) {
        case '\\':
          i++;
          if (pattern.startsWith("Q", i)) {
            return NONE;
          }
          break;
        case '[':
          i = endOfClass(i) - 1;
          if (i < 0) {
            return NONE;
          }
          break;
        case '(':
          depth++;
          break;
        case ')':
          depth--;
          if (depth == 0) {
            return i + 1;
          }
          break;
        default:
      }
    }
    return NONE;
  }

  /** Returns whether a group is flags for all that follows: {@code (?i)}, but not {@code (?i:}. */
  private boolean setsFlags(int from) {
    if (!pattern.startsWith("(?", from)) {
      return false;
    }
    int i = from;
    while (i < pattern.length() && ":>)".indexOf(pattern.charAt(i)) < 0) {
      i++;
    }
    return i == pattern.length() || pattern.charAt(i) == ')';
  }
}

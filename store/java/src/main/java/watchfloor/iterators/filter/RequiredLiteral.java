package watchfloor.iterators.filter;

import java.nio.charset.StandardCharsets;
import java.util.Arrays;

/**
 * Text that a pattern cannot do without: whatever the pattern is found in contains it. It is cheaper to look for than a
 * pattern, so that most values never meet the pattern.
 *
 * <p>A pattern is read as a concatenation, at its top level only. Groups, classes and all that stands for more than one
 * text part the literals; alternatives, flags and what is not understood leave none. What is asked for is the longest
 * literal. As for patterns, values are taken to be UTF-8.
 */
public final class RequiredLiteral {
  /** Flags of a wildcard: a dot is any character. That makes no difference to literals. */
  private static final String FLAGS = "(?s)";
  /** Around a wildcard that begins and ends with {@code *}. */
  private static final String BEFORE = FLAGS + "\\A.*";
  private static final String AFTER = ".*\\z";

  /** Escapes that stand for a character of some kind or for a place, without anything that follows. */
  private static final String KINDS = "AbBdDfnrsStvwWz";
  private static final int NONE = -1;

  private final String pattern;
  private int at;
  /** What every text must have where the scan stands. */
  private final StringBuilder run = new StringBuilder();
  private byte[] longest = {};
  private boolean whole = true;

  private RequiredLiteral(String pattern) {
    this.pattern = pattern;
  }

  /**
   * What a pattern that regards case asks for, null if nothing is known.
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

  /** In UTF-8; never empty. */
  public byte[] bytes() {
    return longest.clone();
  }

  /** Whether a value, the bytes [from, to), contains it. */
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

  /** Whether the pattern says no more: it is found in each text that contains the literal. */
  public boolean isWhole() {
    return whole;
  }

  /** False if nothing is known. */
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

  /** Goes past what stands next; false if that cannot be told. */
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
    // An escaped letter or digit is something else, and what else may go on behind it.
    return c > ' ' && c < 0x7F && !Character.isLetterOrDigit(c);
  }

  /** What stands before may be missing: of a literal that is its last character. */
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

  /** Ends a literal: something else stands there. */
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

  /** Where {@code {n,m}} ends; what is no count has other characters in it. */
  private int endOfCount(int from) {
    int i = from;
    while (i < pattern.length() && "0123456789,".indexOf(pattern.charAt(i)) >= 0) {
      i++;
    }
    return i < pattern.length() && pattern.charAt(i) == '}' ? i + 1 : NONE;
  }

  /** Where a class ends that has no other in it. */
  private int endOfClass(int from) {
    int i = from + 1;
    i += pattern.startsWith("^", i) ? 1 : 0;
    // A bracket that stands first is a member.
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

  /** Whether what looks like a group is flags for all that follows: {@code (?i)}, but not {@code (?i:}. */
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

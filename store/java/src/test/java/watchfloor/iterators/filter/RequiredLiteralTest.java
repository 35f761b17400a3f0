package watchfloor.iterators.filter;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static watchfloor.iterators.Programs.text;

import com.google.re2j.Pattern;
import com.google.re2j.PatternSyntaxException;
import java.nio.charset.StandardCharsets;
import java.util.Random;
import org.junit.jupiter.api.Test;

class RequiredLiteralTest {
  /** What patterns are drawn from: all operators, and few letters, so that patterns are often found. */
  private static final String[] PARTS = {
    "a", "b", "ab", "ba", "\u00e9", "\ud83d\ude00", "]", "}", " ", "1", ",", ":", "-",
    "\\.", "\\[", "\\)", "\\\\", "\\{", "\\_", ".", "^", "$", "*", "?", "+", "*?", "+?", "??",
    "{0}", "{1}", "{2}", "{0,1}", "{1,}", "{,2}", "{01}", "{", "{a}", "{1,2}?",
    "[ab]", "[^a]", "[]a]", "[^]b]", "[a\\]b]", "[[:alpha:]]", "[a[b]", "[a-]", "[(]", "[)|]", "[\\x{5d}a]",
    "(", "(?:", "(?P<n>", "(?i)", "(?i:", "(?s)", "(?s:", "(?-s:", "(?U)", ")", "|",
    "(a)", "(a|b)", "(?:ab)", "(?:a(b)|)", "([)])", "(\\))",
    "\\d", "\\D", "\\w", "\\W", "\\s", "\\S", "\\b", "\\B", "\\A", "\\z", "\\n", "\\t",
    "\\x61", "\\x{62}", "\\pL", "\\p{Greek}", "\\141", "\\Q", "\\E", "\\Qa*b\\E", "\\Qa|",
    ".*", "(?s)\\A.*", ".*\\z",
  };
  private static final String[] TEXTS = {
    "a", "b", "A", "B", "\u00e9", "\u00c9", "\ud83d\ude00", "]", "}", "{", " ", "1", ",", ":", "-", ".", "[", ")", "(",
    "\\", "_", "*", "|", "\n", "\t", "{1}", "{,2}", "{01}", "E", "Q", "5d",
  };

  private final Random random = new Random(11);

  private String draw(String[] parts, int most) {
    StringBuilder out = new StringBuilder();
    for (int i = random.nextInt(most + 1); i > 0; i--) {
      // Half of all from the first ones, or most patterns would not even be patterns.
      out.append(parts[random.nextInt(random.nextBoolean() ? 8 : parts.length)]);
    }
    return out.toString();
  }

  private static String show(String pattern) {
    RequiredLiteral literal = RequiredLiteral.of(pattern);
    return literal == null
        ? null
        : (literal.isWhole() ? "=" : "") + new String(literal.bytes(), StandardCharsets.UTF_8);
  }

  @Test
  void theLongestLiteralIsAskedFor() {
    assertEquals("=no such path", show("no such path"));
    assertEquals("=a.b[c]{d}", show("a\\.b\\[c]\\{d}"));
    assertEquals("=\u00e9\ud83d\ude00", show("\u00e9\ud83d\ude00"));
    assertEquals("/login.", show("/[a-z]+/login\\.(php|asp)$"));
    assertEquals(".exe", show("^\\w+\\.exe\\z"));
    assertEquals("abcd", show("ab.abcd.abc"));
    assertEquals("abc", show("abcd?e"));
    assertEquals("abcd", show("abcd+e"));
    assertEquals("ab", show("ab\ud83d\ude00*"));
    assertEquals("\u00e9", show("x{2,3}\u00e9a{,2}"));
    assertEquals("cdef", show("ab(?:c|(d)|[)])cdef"));
    assertEquals("cdef", show("(?i:ab)cdef"));
  }

  @Test
  void wildcardsAreSeenThrough() {
    assertEquals("=.git/", show("(?s)\\A.*\\.git/.*\\z"));
    assertEquals("=foo\\", show("(?s)\\A.*foo\\\\.*\\z"));
    assertEquals("foo", show("(?s)\\A.*foo\\.*\\z"));
    assertEquals("/index", show("(?s)\\A/index.*\\z"));
    assertEquals("index", show("(?s)\\A.*index.\\.ph.*\\z"));
    assertNull(RequiredLiteral.of("(?s)\\A.*\\z"));
    assertNull(RequiredLiteral.of("(?s)\\A.*.*\\z"));
  }

  @Test
  void whatIsNotUnderstoodAsksForNothing() {
    String[] patterns = {
      "", ".*", "abc|abd", "(?i)abc", "abc(?i)def", "(abc)", "a*", "a?", "a{0}", "[abc]", "\\Qabc\\E",
      "(\\Qa)\\E)abc", "\\x61bc", "\\141bc", "\\pLbc", "ab[[:alpha:]]", "ab{c}", "(?s)", "\\d+",
      "abc(", "abc)", "abc[", "abc\\", "abc(?P<n", "abc\\\u00e9"
    };
    for (String pattern : patterns) {
      assertNull(RequiredLiteral.of(pattern), pattern);
    }
  }

  /** Where RE2 finds a pattern the literal is, and a pattern that is a literal is found wherever the literal is. */
  @Test
  void drawnPatternsAreFoundOnlyWithTheirLiterals() {
    int found = 0;
    int whole = 0;
    for (int round = 0; round < 60_000; round++) {
      String drawn = draw(PARTS, 6);
      RequiredLiteral literal = RequiredLiteral.of(drawn);
      if (literal == null) {
        continue;
      }
      Pattern pattern;
      try {
        pattern = Pattern.compile(drawn);
      } catch (PatternSyntaxException e) {
        continue;
      }
      String needed = new String(literal.bytes(), StandardCharsets.UTF_8);
      for (int i = 0; i < 12; i++) {
        String value = draw(TEXTS, 4) + (i % 2 == 0 ? needed : "") + draw(TEXTS, 4);
        boolean isFound = pattern.matcher(text(value)).find();
        if (isFound || literal.isWhole()) {
          assertEquals(isFound, value.contains(needed), () -> drawn + " in " + value);
        }
        found += isFound ? 1 : 0;
        whole += literal.isWhole() ? 1 : 0;
      }
    }
    assertTrue(found > 10_000 && whole > 10_000, found + " found, " + whole + " of whole patterns");
  }

  @Test
  void caseIsRegardedOrThereIsNoLiteral() {
    assertNotNull(new Condition.Match(Pattern.compile("abc")).literal());
    Condition.Match match = new Condition.Match(Pattern.compile("abc", Pattern.CASE_INSENSITIVE));
    assertNull(match.literal());
    assertTrue(match.test(text("xABC"), 0, 4));
  }
}

package watchfloor.iterators.filter;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static watchfloor.iterators.Programs.text;

import com.google.re2j.Pattern;
import org.junit.jupiter.api.Test;

class ConditionTest {
  private static boolean matches(String pattern, String value) {
    byte[] around = text("(" + value + ")");
    return new Condition.Match(Pattern.compile(pattern)).test(around, 1, around.length - 1);
  }

  @Test
  void aTextBeginsAtItsBeginningOnly() {
    String[] characters = {"a", "\u00e9", "\u65e5", "\ud83d\ude00"};
    String[] patterns = {"(?:^|/)b", "(?m)^b", "\\Ab", ".^b|c", "b\\A|c"};
    for (String character : characters) {
      for (String pattern : patterns) {
        assertEquals(false, matches(pattern, character + "b"), pattern + " in " + character + "b");
      }
      assertEquals(true, matches("(?:^|/)b", character + "/b"));
      assertEquals(true, matches("(?m)^b", character + "\nb"));
      assertEquals(true, matches("^.b$", character + "b"));
      assertEquals(true, matches(".\\z", character));
    }
  }
}

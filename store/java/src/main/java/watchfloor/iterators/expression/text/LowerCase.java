package watchfloor.iterators.expression.text;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.nio.ByteBuffer;
import java.util.Arrays;

/** The lower case of text, by a table of the lower-case letter of each character that has another one. */
public final class LowerCase {
  private final int[] codes;
  private final int[] lower;

  /** @param table pairs of code points, ascending, of four bytes each */
  public LowerCase(byte[] table) {
    ByteBuffer in = ByteBuffer.wrap(table);
    codes = new int[table.length / (2 * Integer.BYTES)];
    lower = new int[codes.length];
    for (int i = 0; i < codes.length; i++) {
      codes[i] = in.getInt();
      lower[i] = in.getInt();
      if (!Character.isValidCodePoint(lower[i])) {
        throw new IllegalArgumentException("lower case: " + lower[i] + " is no character");
      }
    }
  }

  /** Returns the lower case of the text in [from, to), in UTF-8. */
  public byte[] toLower(byte[] bytes, int from, int to) {
    byte[] text = Arrays.copyOfRange(bytes, from, to);
    for (int i = 0; i < text.length; i++) {
      byte b = text[i];
      if (b < 0) {
        return toLower(new String(text, UTF_8)).getBytes(UTF_8);
      }
      if (b >= 'A' && b <= 'Z') {
        text[i] = (byte) (b + ('a' - 'A'));
      }
    }
    return text;
  }

  private String toLower(String text) {
    StringBuilder into = new StringBuilder(text.length());
    text.codePoints().forEach(code -> into.appendCodePoint(toLower(code)));
    return into.toString();
  }

  private int toLower(int code) {
    int at = Arrays.binarySearch(codes, code);
    return at < 0 ? code : lower[at];
  }
}

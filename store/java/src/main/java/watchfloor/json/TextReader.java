package watchfloor.json;

import java.util.Arrays;

/** Reads strings. */
final class TextReader extends ValueReader {
  private final ValueSink values;
  private byte[] plain = new byte[64];
  private int length;

  TextReader(ValueSink values) {
    this.values = values;
  }

  @Override
  int read(byte[] data, int at, int row) {
    if (data[at] != '"') {
      return ODD;
    }
    int end = end(data, at + 1);
    if (data[end] == '"') {
      values.text(row, data, at + 1, end - at - 1);
      return end + 1;
    }
    return escaped(data, at + 1, end, row);
  }

  /** Returns the first position from {@code at} on of a byte that ends the plain part of a string. */
  static int end(byte[] data, int at) {
    int end = at;
    int goesOn = TextMatcher.end(TextMatcher.get(data, end));
    while (goesOn == TextMatcher.BYTES) {
      end += TextMatcher.BYTES;
      goesOn = TextMatcher.end(TextMatcher.get(data, end));
    }
    return end + goesOn;
  }

  /** Reads a string that has escapes, the first of which is at {@code first}. */
  private int escaped(byte[] data, int start, int first, int row) {
    int from = start;
    int at = first;
    length = 0;
    while (data[at] == '\\') {
      add(data, from, at);
      from = at + 2;
      switch (data[at + 1]) {
        case '"':
        case '\\':
        case '/':
          add(data[at + 1]);
          break;
        case 'b':
          add('\b');
          break;
        case 'f':
          add('\f');
          break;
        case 'n':
          add('\n');
          break;
        case 'r':
          add('\r');
          break;
        case 't':
          add('\t');
          break;
        case 'u':
          from = letter(data, at);
          if (from == ODD) {
            return ODD;
          }
          break;
        default:
          return ODD;
      }
      at = end(data, from);
    }
    if (data[at] != '"') {
      return ODD;
    }
    add(data, from, at);
    values.text(row, plain, 0, length);
    return at + 1;
  }

  /** Adds the character of {@code \}{@code uXXXX}, or of a surrogate pair of them. Returns the position after it. */
  private int letter(byte[] data, int at) {
    int unit = unit(data, at);
    if (unit < 0 || Character.isLowSurrogate((char) unit)) {
      return ODD;
    }
    if (!Character.isHighSurrogate((char) unit)) {
      encode(unit);
      return at + 6;
    }
    int second = data[at + 6] == '\\' && data[at + 7] == 'u' ? unit(data, at + 6) : ODD;
    if (second < 0 || !Character.isLowSurrogate((char) second)) {
      return ODD;
    }
    encode(Character.toCodePoint((char) unit, (char) second));
    return at + 12;
  }

  private static int unit(byte[] data, int at) {
    int unit = 0;
    for (int i = at + 2; i < at + 6; i++) {
      int digit = Character.digit(data[i], 16);
      if (digit < 0) {
        return ODD;
      }
      unit = unit << 4 | digit;
    }
    return unit;
  }

  private void encode(int point) {
    if (point < 0x80) {
      add(point);
    } else if (point < 0x800) {
      add(0xC0 | point >> 6);
      add(0x80 | point & 0x3F);
    } else {
      if (point < 0x10000) {
        add(0xE0 | point >> 12);
      } else {
        add(0xF0 | point >> 18);
        add(0x80 | point >> 12 & 0x3F);
      }
      add(0x80 | point >> 6 & 0x3F);
      add(0x80 | point & 0x3F);
    }
  }

  private void add(int octet) {
    reserve(1);
    plain[length++] = (byte) octet;
  }

  private void add(byte[] data, int from, int to) {
    reserve(to - from);
    System.arraycopy(data, from, plain, length, to - from);
    length += to - from;
  }

  private void reserve(int more) {
    if (length + more > plain.length) {
      plain = Arrays.copyOf(plain, Math.max(2 * plain.length, length + more));
    }
  }
}

package watchfloor.json;

import java.nio.charset.StandardCharsets;
import java.util.Arrays;

/**
 * Reads one JSON value of its field's type.
 *
 * <p>The bytes are UTF-8, and {@link LineReader#END} follows the last line. No value continues with that byte, so none
 * is read past it.
 */
abstract class ValueReader {
  /** Returned instead of a position if the value is not of the type, or not in a form that this reader takes. */
  static final int ODD = -1;

  private static final int SURE_DIGITS = 18;
  private static final int EXACT_DIGITS = 15;
  private static final double[] TENS = {
    1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15
  };

  /** Reads the value at a position into a row. Returns the position after it, or {@link #ODD}. */
  abstract int read(byte[] data, int at, int row);

  /** Starts again with row 0. */
  void begin() {}

  /**
   * Returns a reader of values of a type.
   *
   * @param type {@code string}, {@code ip}, {@code int}, {@code port}, {@code float}, {@code bool} or {@code time}, or
   *     one of them after {@code list:} for lists
   * @param power the power of ten that turns a number into microseconds; negative if numbers are no times
   */
  static ValueReader of(String type, int power, ValueSink values) {
    switch (type) {
      case "string":
        return new TextReader(values);
      case "int":
        return whole(values, Long.MIN_VALUE, Long.MAX_VALUE);
      case "port":
        return whole(values, 0, 65535);
      case "float":
        return fraction(values);
      case "bool":
        return truth(values);
      case "ip":
        return new AddressReader(values);
      case "time":
        return new TimeReader(values, power);
      default:
        if (!type.startsWith("list:")) {
          throw new IllegalArgumentException("no values of type " + type);
        }
        return new ListReader(values, of(type.substring("list:".length()), power, values.elements()));
    }
  }

  /** Returns the position after the digits that begin at {@code at}. */
  static int digits(byte[] data, int at) {
    int end = at;
    while (data[end] >= '0' && data[end] <= '9') {
      end++;
    }
    return end;
  }

  /** Returns whether JSON allows a number to begin with these digits. */
  static boolean begins(byte[] data, int at, int digits) {
    return digits == 1 || digits > 1 && data[at] != '0';
  }

  /** Returns the number {@code before}, continued with the digits in [at, end). */
  static long number(byte[] data, int at, int end, long before) {
    long number = before;
    for (int i = at; i < end; i++) {
      number = number * 10 + (data[i] - '0');
    }
    return number;
  }

  private static ValueReader whole(ValueSink values, long least, long most) {
    return new ValueReader() {
      @Override
      int read(byte[] data, int at, int row) {
        boolean negative = data[at] == '-';
        int start = negative ? at + 1 : at;
        int end = digits(data, start);
        if (!begins(data, start, end - start) || end - start > SURE_DIGITS) {
          return ODD;
        }
        long number = number(data, start, end, 0);
        number = negative ? -number : number;
        if (number < least || number > most) {
          return ODD;
        }
        values.number(row, number);
        return end;
      }
    };
  }

  /**
   * Returns a reader of numbers with a fraction. Up to 15 digits and the power of ten are exact doubles, so their
   * quotient is the double nearest to the number (Clinger 1990). Java's parser reads all other numbers.
   */
  private static ValueReader fraction(ValueSink values) {
    return new ValueReader() {
      @Override
      int read(byte[] data, int at, int row) {
        boolean negative = data[at] == '-';
        int start = negative ? at + 1 : at;
        int point = digits(data, start);
        if (!begins(data, start, point - start)) {
          return ODD;
        }
        int end = point;
        int places = 0;
        if (data[point] == '.') {
          end = digits(data, point + 1);
          places = end - point - 1;
          if (places == 0) {
            return ODD;
          }
        }
        double number;
        if (data[end] == 'e' || data[end] == 'E' || point - start + places > EXACT_DIGITS) {
          end = exponent(data, end);
          if (end == ODD) {
            return ODD;
          }
          number = Double.parseDouble(new String(data, start, end - start, StandardCharsets.ISO_8859_1));
          if (Double.isInfinite(number)) {
            return ODD;
          }
        } else {
          number = number(data, start, point, 0);
          if (places > 0) {
            number = number(data, point + 1, end, (long) number) / TENS[places];
          }
        }
        values.number(row, Double.doubleToRawLongBits(negative ? -number : number));
        return end;
      }
    };
  }

  /** Returns the position after an optional exponent; {@link #ODD} if it has no digits. */
  private static int exponent(byte[] data, int at) {
    if (data[at] != 'e' && data[at] != 'E') {
      return at;
    }
    int start = data[at + 1] == '+' || data[at + 1] == '-' ? at + 2 : at + 1;
    int end = digits(data, start);
    return end == start ? ODD : end;
  }

  private static ValueReader truth(ValueSink values) {
    byte[] yes = {'t', 'r', 'u', 'e'};
    byte[] no = {'f', 'a', 'l', 's', 'e'};
    return new ValueReader() {
      @Override
      int read(byte[] data, int at, int row) {
        byte[] word = data[at] == 't' ? yes : no;
        if (!is(data, at, word)) {
          return ODD;
        }
        values.number(row, word == yes ? 1 : 0);
        return at + word.length;
      }
    };
  }

  /** Returns whether a word is at a position. */
  static boolean is(byte[] data, int at, byte[] word) {
    return at + word.length <= data.length && Arrays.equals(data, at, at + word.length, word, 0, word.length);
  }
}

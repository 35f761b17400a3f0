package watchfloor.json;

/** Reads times: common forms of ISO 8601, or numbers since 1970, also as text. Half a microsecond is rounded up. */
final class TimeReader extends ValueReader {
  private static final int SECOND_POWER = 6;
  private static final long SECOND = 1_000_000;
  private static final long DAY = 86_400 * SECOND;
  /** The first time that is taken, in microseconds since 1970. */
  private static final long YEAR_1 = -62_135_596_800L * SECOND;
  /** The first time that is refused, in microseconds since 1970. */
  private static final long YEAR_10000 = 253_402_300_800L * SECOND;

  private static final int[] DAYS_BEFORE = {0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334, 365};
  private static final int MOST_DIGITS = 18;
  private static final int MOST_PLACES = 9;
  private static final long[] TENS = new long[MOST_DIGITS + 1];

  static {
    TENS[0] = 1;
    for (int i = 1; i < TENS.length; i++) {
      TENS[i] = TENS[i - 1] * 10;
    }
  }

  private final ValueSink values;
  private final int power;
  /** The last date that was read, and its first microsecond below. Most lines of a log are of the same day. */
  private final byte[] date = new byte["0000-00-00".length()];
  private long midnight;

  TimeReader(ValueSink values, int power) {
    this.values = values;
    this.power = power;
  }

  @Override
  int read(byte[] data, int at, int row) {
    if (data[at] != '"') {
      return number(data, at, row);
    }
    int end = text(data, at + 1, row);
    if (end != ODD) {
      return end;
    }
    end = number(data, at + 1, row);
    return end != ODD && data[end] == '"' ? end + 1 : ODD;
  }

  private int number(byte[] data, int at, int row) {
    if (power < 0) {
      return ODD;
    }
    boolean negative = data[at] == '-';
    int start = negative ? at + 1 : at;
    int end = digits(data, start);
    if (!begins(data, start, end - start) || end - start > MOST_DIGITS - power) {
      return ODD;
    }
    long micros = number(data, start, end, 0) * TENS[power];
    if (data[end] == '.') {
      int point = end;
      end = digits(data, point + 1);
      int places = end - point - 1;
      if (places == 0 || places > MOST_PLACES || negative && places > power) {
        return ODD;
      }
      micros += fraction(data, point + 1, places, power);
    }
    return add(row, negative ? -micros : micros, end);
  }

  /** Returns the fraction with the digits after a decimal point, multiplied by a power of ten. */
  private static long fraction(byte[] data, int at, int places, int power) {
    if (places <= power) {
      return ValueReader.number(data, at, at + places, 0) * TENS[power - places];
    }
    return ValueReader.number(data, at, at + power, 0) + (data[at + power] >= '5' ? 1 : 0);
  }

  /**
   * Reads {@code YYYY-MM-DD}, {@code T} or a space, {@code HH:MM:SS}, an optional fraction and an optional zone, which
   * is UTC by default.
   */
  private int text(byte[] data, int start, int row) {
    int at = start + date.length;
    if (!day(data, start) || data[at] != 'T' && data[at] != ' ') {
      return ODD;
    }
    int hour = two(data, at + 1);
    if (hour < 0 || hour > 23 || data[at + 3] != ':') {
      return ODD;
    }
    int minute = two(data, at + 4);
    if (minute < 0 || minute > 59 || data[at + 6] != ':') {
      return ODD;
    }
    int second = two(data, at + 7);
    if (second < 0 || second > 59) {
      return ODD;
    }
    at += 9;
    long micros = midnight + ((hour * 60 + minute) * 60 + second) * SECOND;
    if (data[at] == '.') {
      int end = digits(data, at + 1);
      int places = end - at - 1;
      if (places == 0 || places > MOST_PLACES) {
        return ODD;
      }
      micros += fraction(data, at + 1, places, SECOND_POWER);
      at = end;
    }
    if (data[at] == 'Z') {
      at++;
    } else if (data[at] == '+' || data[at] == '-') {
      int hours = two(data, at + 1);
      int colon = hours >= 0 && data[at + 3] == ':' ? 1 : 0;
      int minutes = hours < 0 ? ODD : two(data, at + 3 + colon);
      if (minutes < 0 || hours > 23 || minutes > 59) {
        return ODD;
      }
      micros -= (hours * 60 + minutes) * 60 * SECOND * (data[at] == '+' ? 1 : -1);
      at += 5 + colon;
    }
    return data[at] == '"' ? add(row, micros, at + 1) : ODD;
  }

  private int add(int row, long micros, int end) {
    if (micros < YEAR_1 || micros >= YEAR_10000) {
      return ODD;
    }
    values.number(row, micros);
    return end;
  }

  /** Reads a date. Returns false if there is no valid date. */
  private boolean day(byte[] data, int at) {
    if (is(data, at, date)) {
      return true;
    }
    int century = two(data, at);
    int year = century < 0 ? ODD : two(data, at + 2);
    if (year < 0 || data[at + 4] != '-') {
      return false;
    }
    year += century * 100;
    int month = two(data, at + 5);
    if (month < 1 || month > 12 || data[at + 7] != '-') {
      return false;
    }
    int day = two(data, at + 8);
    boolean leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    int days = DAYS_BEFORE[month] - DAYS_BEFORE[month - 1] + (leap && month == 2 ? 1 : 0);
    if (year < 1 || day < 1 || day > days) {
      return false;
    }
    int years = year - 1;
    long before = years * 365L + years / 4 - years / 100 + years / 400 + DAYS_BEFORE[month - 1] + (leap && month > 2 ? 1 : 0);
    midnight = YEAR_1 + (before + day - 1) * DAY;
    System.arraycopy(data, at, date, 0, date.length);
    return true;
  }

  /** Returns the value of two digits; a negative number if they are no digits. */
  private static int two(byte[] data, int at) {
    int tens = data[at] - '0';
    if (tens < 0 || tens > 9) {
      return ODD;
    }
    int ones = data[at + 1] - '0';
    return ones < 0 || ones > 9 ? ODD : tens * 10 + ones;
  }
}

package watchfloor.json;

/** Reads IP addresses into their normal form: IPv4 as written, IPv6 by RFC 5952. */
final class AddressReader extends ValueReader {
  private static final int GROUPS = 8;
  private static final byte[] HEX = {'0', '1', '2', '3', '4', '5', '6', '7', '8', '9', 'a', 'b', 'c', 'd', 'e', 'f'};

  private final ValueSink values;
  private final int[] groups = new int[GROUPS];
  private final byte[] normal = new byte["ffff:".length() * GROUPS];
  private int length;

  AddressReader(ValueSink values) {
    this.values = values;
  }

  @Override
  int read(byte[] data, int at, int row) {
    if (data[at] != '"') {
      return ODD;
    }
    int end = four(data, at + 1);
    if (end != ODD) {
      values.text(row, data, at + 1, end - at - 1);
      return end + 1;
    }
    end = six(data, at + 1);
    if (end != ODD) {
      write();
      values.text(row, normal, 0, length);
      return end + 1;
    }
    return ODD;
  }

  /** Returns the position of the quotation mark after an IPv4 address; {@link #ODD} if there is no such address. */
  private static int four(byte[] data, int start) {
    int at = start;
    for (int part = 0; part < 4; part++) {
      int end = digits(data, at);
      int length = end - at;
      if (!begins(data, at, length) || length > 3 || length == 3 && number(data, at, end, 0) > 255) {
        return ODD;
      }
      if (data[end] != (part < 3 ? '.' : '"')) {
        return ODD;
      }
      at = end + 1;
    }
    return at - 1;
  }

  /**
   * Reads the groups of an IPv6 address, and returns the position of the quotation mark after it. An address that ends
   * with or embeds an IPv4 address is odd.
   */
  private int six(byte[] data, int start) {
    int at = start;
    int count = 0;
    int gap = ODD;
    if (data[at] == ':') {
      if (data[at + 1] != ':') {
        return ODD;
      }
      gap = 0;
      at += 2;
    }
    while (data[at] != '"') {
      int end = at;
      int group = 0;
      for (int digit = hex(data[end]); digit >= 0; digit = hex(data[end])) {
        group = group << 4 | digit;
        if (++end - at > 4) {
          return ODD;
        }
      }
      if (end == at || count == GROUPS) {
        return ODD;
      }
      groups[count++] = group;
      at = end;
      if (data[at] == ':') {
        at++;
        if (data[at] == ':') {
          if (gap != ODD) {
            return ODD;
          }
          gap = count;
          at++;
        } else if (data[at] == '"') {
          return ODD;
        }
      } else if (data[at] != '"') {
        return ODD;
      }
    }
    if (gap == ODD ? count != GROUPS : count == GROUPS) {
      return ODD;
    }
    if (gap != ODD) {
      int behind = count - gap;
      for (int i = 1; i <= GROUPS - gap; i++) {
        groups[GROUPS - i] = i <= behind ? groups[count - i] : 0;
      }
    }
    return isEmbedded() ? ODD : at;
  }

  private boolean isEmbedded() {
    for (int i = 0; i < 5; i++) {
      if (groups[i] != 0) {
        return false;
      }
    }
    return groups[5] == 0xFFFF;
  }

  private static int hex(byte b) {
    if (b >= '0' && b <= '9') {
      return b - '0';
    }
    int letter = b | 0x20;
    return letter >= 'a' && letter <= 'f' ? letter - 'a' + 10 : ODD;
  }

  /**
   * Writes the groups in their normal form, in which {@code ::} stands for the first of the longest runs of two or more
   * zero groups.
   */
  private void write() {
    int gap = 0;
    int longest = 1;
    for (int i = 0, zeros = 0; i < GROUPS; i++) {
      zeros = groups[i] == 0 ? zeros + 1 : 0;
      if (zeros > longest) {
        longest = zeros;
        gap = i + 1 - zeros;
      }
    }
    int gapEnd = longest > 1 ? gap + longest : 0;
    length = 0;
    for (int i = 0; i < GROUPS; i++) {
      if (i >= gap && i < gapEnd) {
        if (i == gap) {
          normal[length++] = ':';
        }
        if (i == GROUPS - 1) {
          normal[length++] = ':';
        }
        continue;
      }
      if (i > 0) {
        normal[length++] = ':';
      }
      boolean begun = false;
      for (int shift = 12; shift >= 0; shift -= 4) {
        int digit = groups[i] >> shift & 15;
        begun |= digit != 0 || shift == 0;
        if (begun) {
          normal[length++] = HEX[digit];
        }
      }
    }
  }
}

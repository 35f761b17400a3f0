package watchfloor.iterators;

import java.io.ByteArrayOutputStream;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.Base64;
import java.util.HexFormat;
import java.util.zip.Deflater;
import watchfloor.iterators.filter.ValueSets;

/** Builds filter programs and encoded values, as the Python side does. */
public final class Programs {
  public static final byte[] TRUE = {0x15};

  private Programs() {}

  public static byte[] join(byte[]... parts) {
    ByteArrayOutputStream out = new ByteArrayOutputStream();
    for (byte[] part : parts) {
      out.writeBytes(part);
    }
    return out.toByteArray();
  }

  public static byte[] text(String text) {
    return text.getBytes(StandardCharsets.UTF_8);
  }

  public static byte[] number(long value) {
    return ByteBuffer.allocate(8).putLong(value ^ Long.MIN_VALUE).array();
  }

  public static byte[] count(long value) {
    return ByteBuffer.allocate(8).putLong(value).array();
  }

  /** A list's cell; a null element is null. */
  public static byte[] list(byte[]... elements) {
    byte[] out = {};
    for (byte[] element : elements) {
      out = element == null ? join(out, u32(-1)) : join(out, bytes(element));
    }
    return out;
  }

  public static byte[] u16(int value) {
    return ByteBuffer.allocate(2).putShort((short) value).array();
  }

  public static byte[] u32(int value) {
    return ByteBuffer.allocate(4).putInt(value).array();
  }

  public static byte[] bytes(byte[] raw) {
    return join(u32(raw.length), raw);
  }

  public static byte[] field(int kind, String name) {
    return join(new byte[] {(byte) kind}, u16(text(name).length), text(name));
  }

  public static byte[] scalar(String name) {
    return field(0, name);
  }

  public static byte[] list(String name) {
    return field(1, name);
  }

  public static byte[] time(String name) {
    return field(2, name);
  }

  public static byte[] and(byte[]... children) {
    return join(new byte[] {1}, u16(children.length), join(children));
  }

  public static byte[] or(byte[]... children) {
    return join(new byte[] {2}, u16(children.length), join(children));
  }

  public static byte[] not(byte[] child) {
    return join(new byte[] {3}, child);
  }

  /** Bounds in interval notation: {@code "[)"} is low &lt;= value &lt; high. A null bound is none. */
  public static byte[] range(byte[] field, String brackets, byte[] low, byte[] high) {
    int flags = low == null ? 0 : brackets.charAt(0) == '[' ? 3 : 1;
    flags |= high == null ? 0 : brackets.charAt(1) == ']' ? 12 : 4;
    byte[] none = {};
    return join(
        new byte[] {0x10},
        field,
        new byte[] {(byte) flags},
        low == null ? none : bytes(low),
        high == null ? none : bytes(high));
  }

  public static byte[] in(byte[] field, byte[]... values) {
    byte[] out = join(new byte[] {0x11}, field, u32(values.length));
    for (byte[] value : values) {
      out = join(out, bytes(value));
    }
    return out;
  }

  /** A packed set: values, and ranges by their first and their last values; all sorted. */
  public static byte[] set(byte[][] values, byte[][] lows, byte[][] highs) {
    byte[] body = join(u32(values.length), u32(lows.length));
    byte[] data = {};
    for (byte[][] part : new byte[][][] {values, lows, highs}) {
      for (byte[] value : part) {
        body = join(body, u32(value.length));
      }
      data = join(data, join(part));
    }
    return packed(join(body, data));
  }

  /** The beginning of a program with one set. */
  public static byte[] named(byte[] set) {
    return join(new byte[] {0x21}, u16(1), HexFormat.of().parseHex(ValueSets.digest(set)));
  }

  /** Bytes after their number, compressed. */
  public static byte[] packed(byte[] body) {
    Deflater deflater = new Deflater();
    deflater.setInput(body);
    deflater.finish();
    byte[] out = new byte[body.length + 64];
    int size = deflater.deflate(out);
    deflater.end();
    return join(u32(body.length), Arrays.copyOf(out, size));
  }

  /** The condition that a value is in a set. */
  public static byte[] listed(byte[] field, int set) {
    return join(new byte[] {0x17}, field, u16(set));
  }

  public static byte[] regex(byte[] field, String pattern, boolean ignoreCase) {
    return join(new byte[] {0x12}, field, new byte[] {(byte) (ignoreCase ? 1 : 0)}, bytes(text(pattern)));
  }

  public static byte[] exists(byte[] field) {
    return join(new byte[] {0x13}, field);
  }

  public static byte[] eq(byte[] field, byte[] value) {
    return join(new byte[] {0x14}, field, bytes(value));
  }

  public static String base64(byte[] program) {
    return Base64.getEncoder().encodeToString(program);
  }
}

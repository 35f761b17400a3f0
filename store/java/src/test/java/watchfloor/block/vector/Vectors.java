package watchfloor.block.vector;

import static watchfloor.iterators.Programs.join;

import com.github.luben.zstd.Zstd;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import java.util.TreeSet;
import java.util.stream.IntStream;
import java.util.zip.CRC32;
import net.jpountz.lz4.LZ4Factory;
import watchfloor.block.zone.BloomFilter;

/** Writes vectors as the Python side does, in any form, and reads what {@link Vector} makes of them. */
public final class Vectors {
  public static final int BASE = 0;
  public static final int DIFFERENCES = 1;

  private Vectors() {}

  public static byte[] dictionary(int codec, int width, List<byte[]> values) {
    TreeSet<byte[]> distinct = new TreeSet<>(Arrays::compareUnsigned);
    values.stream().filter(Objects::nonNull).forEach(distinct::add);
    List<byte[]> entries = new ArrayList<>(distinct);
    ByteBuffer payload = little(4 + 4 * entries.size() + size(entries) + width * values.size());
    payload.putInt(entries.size());
    entries.forEach(entry -> payload.putInt(entry.length));
    entries.forEach(payload::put);
    for (byte[] value : values) {
      put(payload, width, value == null ? entries.size() : distinct.headSet(value).size());
    }
    Form form = new Form(Vector.DICTIONARY, 0, width, 0);
    return vector(form, codec, 0, values.size(), bounds(values), payload.array());
  }

  public static byte[] plain(int codec, List<byte[]> values) {
    byte[] bitmap = bitmap(values);
    ByteBuffer payload = little(bitmap.length + 4 * values.size() + size(values)).put(bitmap);
    values.forEach(value -> payload.putInt(value == null ? 0 : value.length));
    values.stream().filter(Objects::nonNull).forEach(payload::put);
    Form form = new Form(Vector.PLAIN, 0, 0, 0);
    return vector(form, codec, nulls(values), values.size(), bounds(values), payload.array());
  }

  /** The width is the least that all differences fit, or more. */
  public static byte[] numbers(int codec, int transform, int valueBytes, int width, List<byte[]> values) {
    byte[] bitmap = bitmap(values);
    ByteBuffer payload = little(bitmap.length + (transform == BASE ? 8 : 16) + width * values.size()).put(bitmap);
    long[] numbers = values.stream().mapToLong(Vectors::number).toArray();
    if (transform == BASE) {
      long base =
          values.stream().filter(Objects::nonNull).map(Vectors::number).min(Long::compareUnsigned).orElse(0L);
      payload.putLong(base);
      for (int i = 0; i < numbers.length; i++) {
        put(payload, width, values.get(i) == null ? 0 : numbers[i] - base);
      }
    } else {
      long step = Long.MAX_VALUE;
      for (int i = 1; i < numbers.length; i++) {
        step = Math.min(step, numbers[i] - numbers[i - 1]);
      }
      payload.putLong(numbers.length == 0 ? 0 : numbers[0]).putLong(step);
      for (int i = 0; i < numbers.length; i++) {
        put(payload, width, i == 0 ? 0 : numbers[i] - numbers[i - 1] - step);
      }
    }
    byte[][] bounds = bounds(values);
    int nulls = nulls(values);
    Form form = new Form(Vector.NUMBERS, valueBytes, width, transform);
    return vector(form, codec, nulls, values.size(), bounds, payload.array());
  }

  static long number(byte[] value) {
    long number = 0;
    for (byte b : value == null ? new byte[0] : value) {
      number = number << 8 | b & 0xFF;
    }
    return number;
  }

  /** {@code inner} is a vector of all elements, not compressed. */
  public static byte[] list(int codec, int width, List<List<byte[]>> lists, byte[] inner) {
    byte[] bitmap = bitmap(lists);
    ByteBuffer payload = little(bitmap.length + width * lists.size() + inner.length).put(bitmap);
    lists.forEach(list -> put(payload, width, list == null ? 0 : list.size()));
    payload.put(inner);
    Form form = new Form(Vector.LIST, 0, width, 0);
    return vector(form, codec, nulls(lists), lists.size(), bounds(elements(lists)), payload.array());
  }

  public static List<byte[]> elements(List<List<byte[]>> lists) {
    List<byte[]> out = new ArrayList<>();
    lists.stream().filter(Objects::nonNull).forEach(out::addAll);
    return out;
  }

  private static int size(List<byte[]> values) {
    return values.stream().filter(Objects::nonNull).mapToInt(value -> value.length).sum();
  }

  private static int nulls(List<?> values) {
    return values.stream().anyMatch(Objects::isNull) ? VectorHeader.NULLS : 0;
  }

  private static byte[] bitmap(List<?> values) {
    byte[] bits = new byte[nulls(values) != 0 ? (values.size() + 7) / 8 : 0];
    for (int i = 0; bits.length > 0 && i < values.size(); i++) {
      bits[i >> 3] |= (byte) (values.get(i) == null ? 0 : 1 << (i & 7));
    }
    return bits;
  }

  /** Minimum and maximum; null if all is null. */
  private static byte[][] bounds(List<byte[]> values) {
    List<byte[]> sorted = new ArrayList<>(values);
    sorted.removeIf(Objects::isNull);
    sorted.sort(Arrays::compareUnsigned);
    return sorted.isEmpty() ? null : new byte[][] {sorted.get(0), sorted.get(sorted.size() - 1)};
  }

  public static ByteBuffer little(int size) {
    return ByteBuffer.allocate(size).order(ByteOrder.LITTLE_ENDIAN);
  }

  private static void put(ByteBuffer to, int width, long number) {
    for (int i = 0; i < width; i++) {
      to.put((byte) (number >>> (8 * i)));
    }
  }

  /** How a payload is written: the form's number, and the parameters that only some forms have (else 0). */
  private record Form(int number, int valueBytes, int width, int transform) {}

  /** Returns a vector of version 2 with a payload, which begins with the bitmap of nulls if there are any. */
  static byte[] packed(int form, int valueBytes, int width, int transform, List<?> values, byte[] payload) {
    List<byte[]> all = new ArrayList<>();
    for (Object value : values) {
      if (value instanceof List) {
        ((List<?>) value).forEach(element -> all.add((byte[]) element));
      } else {
        all.add((byte[]) value);
      }
    }
    Form whole = new Form(form, valueBytes, width, transform);
    int nulls = form == Vector.DICTIONARY ? 0 : nulls(values);
    byte[] plain = form == Vector.DICTIONARY ? payload : join(bitmap(values), payload);
    byte[] vector = vector(whole, Codec.NONE, nulls, values.size(), bounds(all), plain);
    vector[1] = VectorHeader.PACKED;
    return seal(vector);
  }

  private static byte[] vector(Form form, int codec, int nulls, int rows, byte[][] bounds, byte[] plain) {
    byte[] min = bounds == null ? new byte[0] : Arrays.copyOf(bounds[0], Math.min(64, bounds[0].length));
    byte[] max = bounds == null ? new byte[0] : Arrays.copyOf(bounds[1], Math.min(64, bounds[1].length));
    int flags = nulls | (bounds == null ? 0 : VectorHeader.BOUNDS);
    flags |= bounds != null && max.length < bounds[1].length ? VectorHeader.CUT : 0;
    ByteBuffer header = little(VectorHeader.SIZE).put((byte) VectorHeader.MAGIC).put((byte) VectorHeader.VERSION);
    header.put((byte) form.number()).put((byte) codec).put((byte) flags);
    header.put((byte) form.valueBytes()).put((byte) form.width()).put((byte) form.transform());
    header.putInt(rows).putInt(plain.length).putInt(0).putShort((short) min.length).putShort((short) max.length);
    byte[] stored =
        codec == Codec.ZSTD
            ? Zstd.compress(plain)
            : codec == Codec.LZ4 ? LZ4Factory.fastestInstance().fastCompressor().compress(plain) : plain;
    return seal(join(header.array(), min, max, stored));
  }

  /** Returns the zone of a vector, with a filter of its values unless these are null. */
  public static byte[] zone(byte[] vector, List<byte[]> values) {
    ByteBuffer header = ByteBuffer.wrap(vector).order(ByteOrder.LITTLE_ENDIAN);
    boolean isComplete = (vector[2] == Vector.PLAIN || vector[2] == Vector.NUMBERS) && (vector[4] & VectorHeader.NULLS) == 0;
    int flags = (vector[4] & VectorHeader.BOUNDS) / VectorHeader.BOUNDS | (vector[4] & VectorHeader.CUT) / 2 | (isComplete ? 4 : 0);
    ByteBuffer head = little(10).put((byte) 1).put((byte) flags).putShort(header.getShort(20)).putShort(header.getShort(22));
    int end = VectorHeader.SIZE + header.getShort(20) + header.getShort(22);
    byte[] filter = new byte[0];
    if (values != null) {
      List<byte[]> known = values.stream().filter(Objects::nonNull).toList();
      long[] hashes = known.stream().mapToLong(value -> BloomFilter.hash(value, 0, value.length)).toArray();
      filter = BloomFilter.of(hashes, IntStream.range(0, hashes.length).toArray());
    }
    byte[] zone = join(head.array(), Arrays.copyOfRange(vector, VectorHeader.SIZE, end), filter);
    CRC32 crc = new CRC32();
    crc.update(zone, 0, 6);
    crc.update(zone, 10, zone.length - 10);
    ByteBuffer.wrap(zone).order(ByteOrder.LITTLE_ENDIAN).putInt(6, (int) crc.getValue());
    return zone;
  }

  /** Puts the right checksum into a vector. */
  public static byte[] seal(byte[] vector) {
    CRC32 crc = new CRC32();
    crc.update(vector, 0, 16);
    crc.update(vector, 20, vector.length - 20);
    ByteBuffer.wrap(vector).order(ByteOrder.LITTLE_ENDIAN).putInt(16, (int) crc.getValue());
    return vector;
  }

  /** The values of a vector that is no list; null for null. */
  public static List<byte[]> values(Vector vector) {
    vector.check();
    List<byte[]> out = new ArrayList<>();
    for (int i = 0; i < vector.rows(); i++) {
      out.add(value(vector, i));
    }
    return out;
  }

  private static byte[] value(Vector vector, int row) {
    switch (vector.form()) {
      case Vector.DICTIONARY:
        int code = vector.codes()[row];
        return code == vector.entries()
            ? null
            : Arrays.copyOfRange(vector.bytes(), vector.start(code), vector.start(code + 1));
      case Vector.PLAIN:
        return vector.isValid(row)
            ? Arrays.copyOfRange(vector.bytes(), vector.start(row), vector.start(row + 1))
            : null;
      default:
        byte[] bytes = ByteBuffer.allocate(8).putLong(vector.numbers()[row]).array();
        return vector.isValid(row) ? Arrays.copyOfRange(bytes, 8 - vector.valueBytes(), 8) : null;
    }
  }

  public static List<List<byte[]>> lists(Vector vector) {
    vector.check();
    List<byte[]> elements = values(vector.elements());
    List<List<byte[]>> out = new ArrayList<>();
    for (int i = 0; i < vector.rows(); i++) {
      out.add(vector.isValid(i) ? elements.subList(vector.start(i), vector.start(i + 1)) : null);
    }
    return out;
  }

  /** As text, which can be compared. */
  public static String show(List<byte[]> values) {
    StringBuilder out = new StringBuilder();
    values.forEach(value -> out.append(Arrays.toString(value)).append(' '));
    return out.toString();
  }

  public static String showLists(List<List<byte[]>> lists) {
    StringBuilder out = new StringBuilder();
    lists.forEach(list -> out.append(list == null ? "null" : "(" + show(list) + ")").append(' '));
    return out.toString();
  }
}

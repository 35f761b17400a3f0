package watchfloor.block.vector;

import static watchfloor.iterators.Programs.join;

import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import java.util.TreeSet;
import watchfloor.block.vector.packing.PackedBits;
import watchfloor.block.vector.packing.StringCompressor;

/** Writes vectors of version 2, bit by bit, in any form. */
public final class PackedVectors {
  private PackedVectors() {}

  /** Packs numbers in the least width, or in one that is {@code more} bits wider. */
  private record Packed(int width, byte[] bytes) {
    static Packed of(long[] numbers, int more) {
      int least = Arrays.stream(numbers).map(number -> Long.SIZE - Long.numberOfLeadingZeros(number)).mapToInt(n -> (int) n)
          .max().orElse(0) + more;
      int width = least > 56 ? Long.SIZE : least;
      byte[] bytes = new byte[(int) PackedBits.length(numbers.length, width)];
      for (int i = 0; i < numbers.length; i++) {
        for (int bit = 0; bit < width; bit++) {
          int at = i * width + bit;
          bytes[at >> 3] |= (byte) ((numbers[i] >>> bit & 1) << (at & 7));
        }
      }
      return new Packed(width, bytes);
    }
  }

  private static byte[] values(List<byte[]> values, boolean symbols, int more) {
    int[] ends = new int[values.size()];
    byte[] bytes = new byte[0];
    for (int i = 0; i < ends.length; i++) {
      bytes = join(bytes, values.get(i) == null ? new byte[0] : values.get(i));
      ends[i] = bytes.length;
    }
    byte[] table = new byte[0];
    if (symbols) {
      StringCompressor compressor = new StringCompressor(bytes, ends);
      table = compressor.table();
      bytes = compressor.compress(bytes, ends);
    }
    long[] lengths = new long[ends.length];
    Arrays.setAll(lengths, i -> ends[i] - (i == 0 ? 0 : ends[i - 1]));
    Packed packed = Packed.of(lengths, more);
    ByteBuffer anchors = Vectors.little((ends.length + 31) / 32 * 4);
    for (int i = 0; i < ends.length; i += 32) {
      anchors.putInt(i == 0 ? 0 : ends[i - 1]);
    }
    ByteBuffer head = Vectors.little(6).put((byte) (symbols ? 1 : 0)).put((byte) packed.width).putInt(bytes.length);
    return join(head.array(), table, anchors.array(), packed.bytes, bytes);
  }

  public static byte[] dictionary(boolean symbols, int more, List<byte[]> values) {
    TreeSet<byte[]> distinct = new TreeSet<>(Arrays::compareUnsigned);
    values.stream().filter(Objects::nonNull).forEach(distinct::add);
    List<byte[]> entries = new ArrayList<>(distinct);
    long[] codes =
        values.stream().mapToLong(v -> v == null ? entries.size() : distinct.headSet(v).size()).toArray();
    Packed packed = Packed.of(codes, more);
    byte[] count = Vectors.little(4).putInt(entries.size()).array();
    byte[] payload = join(count, values(entries, symbols, more), packed.bytes);
    return Vectors.packed(Vector.DICTIONARY, 0, packed.width, 0, values, payload);
  }

  public static byte[] plain(boolean symbols, int more, List<byte[]> values) {
    return Vectors.packed(Vector.PLAIN, 0, 0, 0, values, values(values, symbols, more));
  }

  public static byte[] numbers(int valueBytes, int more, List<byte[]> values) {
    long base =
        values.stream().filter(Objects::nonNull).map(Vectors::number).min(Long::compareUnsigned).orElse(0L);
    long[] offsets = values.stream().mapToLong(v -> v == null ? 0 : Vectors.number(v) - base).toArray();
    Packed packed = Packed.of(offsets, more);
    byte[] payload = join(Vectors.little(8).putLong(base).array(), packed.bytes);
    return Vectors.packed(Vector.NUMBERS, valueBytes, packed.width, Vectors.BASE, values, payload);
  }

  public static byte[] differences(int valueBytes, int more, List<byte[]> values) {
    long[] numbers = values.stream().mapToLong(Vectors::number).toArray();
    long step = Long.MAX_VALUE;
    for (int i = 1; i < numbers.length; i++) {
      step = Math.min(step, numbers[i] - numbers[i - 1]);
    }
    long[] steps = new long[numbers.length];
    for (int i = 1; i < numbers.length; i++) {
      steps[i] = numbers[i] - numbers[i - 1] - step;
    }
    Packed packed = Packed.of(steps, more);
    ByteBuffer head = Vectors.little(8 + (numbers.length + 127) / 128 * 8).putLong(step);
    for (int i = 0; i < numbers.length; i += 128) {
      head.putLong(numbers[i]);
    }
    byte[] payload = join(head.array(), packed.bytes);
    return Vectors.packed(Vector.NUMBERS, valueBytes, packed.width, Vectors.DIFFERENCES, values, payload);
  }

  /** {@code inner} is a vector of all elements, not compressed, of either version. */
  public static byte[] list(int more, List<List<byte[]>> lists, byte[] inner) {
    Packed packed = Packed.of(lists.stream().mapToLong(list -> list == null ? 0 : list.size()).toArray(), more);
    return Vectors.packed(Vector.LIST, 0, packed.width, 0, lists, join(packed.bytes, inner));
  }
}

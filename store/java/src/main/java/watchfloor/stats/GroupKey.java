package watchfloor.stats;

import java.util.Arrays;
import watchfloor.stats.StatsProgram.KeyKind;
import watchfloor.stats.StatsProgram.KeyPart;

/**
 * One part of what groups are found by. It gives each event a local code, which holds for the events at hand, and each
 * local code a number that holds until {@link #clear}.
 */
final class GroupKey {
  /** The number of null. */
  static final int NULL = -1;

  private static final int IPV4 = 4;
  private static final int IPV4_LENGTH = 5;

  final KeyPart part;
  private final CodeNumbers numbers = new CodeNumbers(this::write);

  private StatsColumn column;
  /** The start (µs) of the bucket that has the local code 0. */
  private long firstBucket;
  /** The local code of each position. */
  int[] codes = new int[0];
  /** The local code of null, greater than all others. */
  int nullCode;
  private long[] times = new long[0];

  GroupKey(KeyPart part) {
    this.part = part;
  }

  long bytes() {
    return numbers.bytes();
  }

  void clear() {
    numbers.clear();
  }

  /** Finds the local codes of the first {@code count} rows, of events or, if the field is a list, of its elements. */
  void code(StatsSource source, StatsColumn column, int[] rows, int count) {
    if (codes.length < count) {
      codes = new int[count];
    }
    this.column = column;
    if (part.kind() == KeyKind.BUCKET) {
      codeBuckets(source, rows, count);
    } else if (column == null) {
      Arrays.fill(codes, 0, count, 0);
      nullCode = 0;
    } else {
      nullCode = column.code(rows, count, codes);
    }
    numbers.begin(part.kind() == KeyKind.BUCKET ? null : column, nullCode, count);
  }

  private void codeBuckets(StatsSource source, int[] rows, int count) {
    long width = part.width();
    firstBucket = Math.floorDiv(source.oldest(), width) * width;
    if (source.oldest() != Long.MIN_VALUE && source.newest() - firstBucket < width) {
      Arrays.fill(codes, 0, count, 0);
      nullCode = 1;
      return;
    }
    if (times.length < count) {
      times = new long[count];
    }
    column.numbers(rows, count, times);
    long least = Long.MAX_VALUE;
    long most = Long.MIN_VALUE;
    for (int i = 0; i < count; i++) {
      times[i] = Math.floorDiv(times[i] ^ Long.MIN_VALUE, width);
      least = Math.min(least, times[i]);
      most = Math.max(most, times[i]);
    }
    firstBucket = least * width;
    for (int i = 0; i < count; i++) {
      codes[i] = (int) (times[i] - least);
    }
    nullCode = Math.toIntExact(most - least + 1);
  }

  /** Returns the number of a local code's value. */
  int number(int code) {
    return code == nullCode ? NULL : numbers.number(code);
  }

  private void write(int code, StatsWriter out) {
    if (part.kind() == KeyKind.BUCKET) {
      out.putBigEndian((firstBucket + code * part.width()) ^ Long.MIN_VALUE, Long.BYTES);
      return;
    }
    column.value(code, out);
    if (part.kind() == KeyKind.PREFIX) {
      keepPrefix(out.bytes(), out.size());
    }
  }

  /** Sets the bits of an encoded address after its prefix to 0. */
  private void keepPrefix(byte[] address, int length) {
    int bits = length == IPV4_LENGTH && address[0] == IPV4 ? part.bits() : part.bits6();
    for (int i = 1; i < length; i++) {
      int kept = Math.max(0, Math.min(Byte.SIZE, bits - (i - 1) * Byte.SIZE));
      address[i] &= (byte) (0xFF << (Byte.SIZE - kept));
    }
  }

  /** Appends the values of all numbers. */
  void write(StatsWriter out) {
    numbers.values().write(out);
  }
}

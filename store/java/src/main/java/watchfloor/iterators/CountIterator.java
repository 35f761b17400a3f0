package watchfloor.iterators;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Base64;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import org.apache.accumulo.core.data.ArrayByteSequence;
import org.apache.accumulo.core.data.ByteSequence;
import org.apache.accumulo.core.data.Key;
import org.apache.accumulo.core.data.PartialKey;
import org.apache.accumulo.core.data.Range;
import org.apache.accumulo.core.data.Value;
import org.apache.accumulo.core.iterators.IteratorEnvironment;
import org.apache.accumulo.core.iterators.SortedKeyValueIterator;

/**
 * Sums counts on the tablet server. Gives one answer per row or per time bucket.
 *
 * <p>A group is a row, or a row, family and the first 8 bytes of the qualifier (the reversed time or time bucket).
 * An answer has the visibility of the first cell that was counted; all cells that the reader may see are summed,
 * whatever their labels. A sum of 0 gives no answer. A scan that was torn down is resumed after its last answer's group.
 */
public class CountIterator extends AnswerIterator {
  /** Option: {@code cells} if values are counts of 8 bytes, {@code entries} if each entry counts 1. */
  public static final String MODE = "mode";
  /** Option: base64 of repeated {@code [u8 length, family][lo 8 bytes][hi 8 bytes]}; without it all cells count. */
  public static final String RANGES = "ranges";
  /** Option: {@code row} for a sum per row, {@code bucket} for a sum per time bucket. */
  public static final String BY = "by";

  private static final int BUCKET = Long.BYTES;
  /** Number of cells that are skipped one by one before a seek is cheaper. */
  private static final int STEPS_BEFORE_SEEK = 24;
  private static final byte[] EMPTY = new byte[0];

  private Map<String, String> options;
  private SortedKeyValueIterator<Key, Value> source;
  private boolean valuesAreCounts;
  private boolean byRow;
  private List<Span> spans;
  /** The range that is left to read; null when there is none. */
  private Range range;
  private Collection<ByteSequence> families;
  private boolean inclusive;

  /** The buckets [low, high) of one family, compared as unsigned numbers. */
  private static final class Span implements Comparable<Span> {
    final ByteSequence family;
    final long low;
    final long high;

    Span(ByteSequence family, long low, long high) {
      this.family = family;
      this.low = low;
      this.high = high;
    }

    @Override
    public int compareTo(Span other) {
      int order = family.compareTo(other.family);
      return order != 0 ? order : Long.compareUnsigned(low, other.low);
    }
  }

  @Override
  public void init(
      SortedKeyValueIterator<Key, Value> source, Map<String, String> options, IteratorEnvironment environment) {
    this.source = source;
    this.options = Map.copyOf(options);
    valuesAreCounts = choice(options, MODE, "cells", "entries");
    byRow = choice(options, BY, "row", "bucket");
    spans = options.get(RANGES) == null ? null : spans(Base64.getDecoder().decode(options.get(RANGES)));
  }

  private static boolean choice(Map<String, String> options, String name, String yes, String no) {
    String value = options.getOrDefault(name, yes);
    if (!value.equals(yes) && !value.equals(no)) {
      throw new IllegalArgumentException("option " + name + " is " + yes + " or " + no + ", not " + value);
    }
    return value.equals(yes);
  }

  /** Returns the spans in order. Those that touch or overlap become one, so that no cell counts twice. */
  private static List<Span> spans(byte[] bytes) {
    ByteBuffer in = ByteBuffer.wrap(bytes);
    List<Span> all = new ArrayList<>();
    while (in.hasRemaining()) {
      byte[] family = new byte[in.get() & 0xFF];
      in.get(family);
      Span span = new Span(new ArrayByteSequence(family), in.getLong(), in.getLong());
      if (Long.compareUnsigned(span.low, span.high) < 0) {
        all.add(span);
      }
    }
    all.sort(null);
    List<Span> merged = new ArrayList<>();
    for (Span span : all) {
      Span last = merged.isEmpty() ? null : merged.get(merged.size() - 1);
      if (last != null && last.family.equals(span.family) && Long.compareUnsigned(span.low, last.high) <= 0) {
        long high = Long.compareUnsigned(span.high, last.high) > 0 ? span.high : last.high;
        merged.set(merged.size() - 1, new Span(last.family, last.low, high));
      } else {
        merged.add(span);
      }
    }
    return merged;
  }

  @Override
  public void seek(Range range, Collection<ByteSequence> families, boolean inclusive) throws IOException {
    clearTop();
    this.families = families;
    this.inclusive = inclusive;
    Key start = range.getStartKey();
    Key after = start == null || range.isStartKeyInclusive() ? null : afterGroup(start);
    this.range = after == null ? range : AnswerKeys.from(after, range);
    if (this.range == null) {
      return;
    }
    source.seek(this.range, families, inclusive);
    next();
  }

  /** Returns the key to resume at if {@code key} is one of this iterator's answers, else null. */
  private Key afterGroup(Key key) {
    ByteSequence qualifier = key.getColumnQualifierData();
    if (byRow) {
      boolean answer = key.getColumnFamilyData().length() == 0 && qualifier.length() == 0;
      return answer ? key.followingKey(PartialKey.ROW) : null;
    }
    if (qualifier.length() != BUCKET) {
      return null;
    }
    long bucket = BigEndian.getLong(qualifier.toArray(), 0);
    return bucket == -1 ? key.followingKey(PartialKey.ROW_COLFAM) : bucketKey(key, key.getColumnFamilyData(), bucket + 1);
  }

  private static Key bucketKey(Key row, ByteSequence family, long bucket) {
    byte[] qualifier = new byte[BUCKET];
    BigEndian.putLong(qualifier, 0, bucket);
    return new Key(row.getRowData().toArray(), family.toArray(), qualifier, EMPTY, Long.MAX_VALUE, false, false);
  }

  @Override
  public void next() throws IOException {
    clearTop();
    while (topKey == null && toCounted()) {
      Key first = new Key(source.getTopKey());
      long bucket = bucketOf(first);
      long sum = 0;
      do {
        sum += count(source.getTopValue());
        source.next();
      } while (toCounted() && sameGroup(first, bucket, source.getTopKey()));
      if (sum != 0) {
        topKey = answer(first);
        byte[] bytes = new byte[Long.BYTES];
        BigEndian.putLong(bytes, 0, sum);
        topValue = new Value(bytes, false);
      }
    }
  }

  /** Returns whether a key is in the group of the first one. */
  private boolean sameGroup(Key first, long bucket, Key key) {
    return byRow
        ? key.equals(first, PartialKey.ROW)
        : key.equals(first, PartialKey.ROW_COLFAM) && bucketOf(key) == bucket;
  }

  /** Returns the key of the answer for the group of a key. */
  private Key answer(Key first) {
    byte[] family = byRow ? EMPTY : first.getColumnFamilyData().toArray();
    byte[] qualifier = byRow ? EMPTY : Arrays.copyOf(first.getColumnQualifierData().toArray(), BUCKET);
    byte[] visibility = first.getColumnVisibilityData().toArray();
    return new Key(first.getRowData().toArray(), family, qualifier, visibility, first.getTimestamp(), false, false);
  }

  private long count(Value value) {
    if (!valuesAreCounts) {
      return 1;
    }
    byte[] bytes = value.get();
    if (bytes.length != Long.BYTES) {
      throw new IllegalStateException("a count has 8 bytes, not " + bytes.length);
    }
    return BigEndian.getLong(bytes, 0);
  }

  /** Returns the first 8 bytes of the qualifier; a shorter one counts as padded with zeros. */
  private static long bucketOf(Key key) {
    ByteSequence qualifier = key.getColumnQualifierData();
    if (qualifier.length() >= BUCKET) {
      return BigEndian.getLong(qualifier.getBackingArray(), qualifier.offset());
    }
    return BigEndian.getLong(Arrays.copyOf(qualifier.toArray(), BUCKET), 0);
  }

  /** Moves the source to the next cell that counts. Returns false if there is none. */
  private boolean toCounted() throws IOException {
    while (range != null && source.hasTop()) {
      if (spans == null) {
        return true;
      }
      Key key = source.getTopKey();
      Span span = spanAtOrAfter(key.getColumnFamilyData(), bucketOf(key));
      if (span == null) {
        skipTo(key.followingKey(PartialKey.ROW));
      } else if (key.getColumnFamilyData().equals(span.family)
          && Long.compareUnsigned(bucketOf(key), span.low) >= 0) {
        return true;
      } else {
        skipTo(bucketKey(key, span.family, span.low));
      }
    }
    return false;
  }

  /** Returns the first span that ends after this position in a row, or null. */
  private Span spanAtOrAfter(ByteSequence family, long bucket) {
    for (Span span : spans) {
      int order = span.family.compareTo(family);
      if (order > 0 || (order == 0 && Long.compareUnsigned(bucket, span.high) < 0)) {
        return span;
      }
    }
    return null;
  }

  /** Moves the source to the first entry from a key on: by steps, then by a seek. */
  private void skipTo(Key target) throws IOException {
    for (int i = 0; i < STEPS_BEFORE_SEEK; i++) {
      source.next();
      if (!source.hasTop() || source.getTopKey().compareTo(target) >= 0) {
        return;
      }
    }
    Range left = AnswerKeys.from(target, range);
    if (left == null) {
      range = null;
    } else {
      source.seek(left, families, inclusive);
    }
  }

  @Override
  public SortedKeyValueIterator<Key, Value> deepCopy(IteratorEnvironment environment) {
    CountIterator copy = new CountIterator();
    copy.init(source.deepCopy(environment), options, environment);
    return copy;
  }
}

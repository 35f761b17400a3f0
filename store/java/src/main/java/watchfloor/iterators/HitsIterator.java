package watchfloor.iterators;

import java.io.IOException;
import java.util.Arrays;
import java.util.Collection;
import java.util.Map;
import org.apache.accumulo.core.data.ByteSequence;
import org.apache.accumulo.core.data.Key;
import org.apache.accumulo.core.data.Range;
import org.apache.accumulo.core.data.Value;
import org.apache.accumulo.core.iterators.IteratorEnvironment;
import org.apache.accumulo.core.iterators.SortedKeyValueIterator;

/**
 * Joins many entries of a row into one, whose value repeats the qualifier and the value of each.
 *
 * <p>An index row of blocks has an entry of 24 bytes or more for every few blocks. Their transfer to a client costs by
 * the entry, not by the byte. An answer's key is that of its last entry, so a scan that was torn down is resumed after it.
 */
public class HitsIterator extends AnswerIterator {
  /** The number of bytes from which on an answer takes no further entry. */
  private static final int MOST = 96 << 10;

  private SortedKeyValueIterator<Key, Value> source;
  private byte[] bytes = new byte[1024];
  private int size;

  @Override
  public void init(
      SortedKeyValueIterator<Key, Value> source, Map<String, String> options, IteratorEnvironment environment) {
    this.source = source;
  }

  @Override
  public void seek(Range range, Collection<ByteSequence> families, boolean inclusive) throws IOException {
    source.seek(range, families, inclusive);
    next();
  }

  @Override
  public void next() throws IOException {
    clearTop();
    if (!source.hasTop()) {
      return;
    }
    size = 0;
    ByteSequence row = source.getTopKey().getRowData();
    while (size < MOST && source.hasTop() && source.getTopKey().getRowData().equals(row)) {
      topKey = new Key(source.getTopKey());
      ByteSequence qualifier = topKey.getColumnQualifierData();
      append(qualifier.getBackingArray(), qualifier.offset(), qualifier.length());
      Value value = source.getTopValue();
      append(value.get(), 0, value.getSize());
      source.next();
    }
    topValue = new Value(Arrays.copyOf(bytes, size), false);
  }

  private void append(byte[] from, int offset, int length) {
    if (bytes.length - size < length) {
      bytes = Arrays.copyOf(bytes, Math.max(bytes.length * 2, size + length));
    }
    System.arraycopy(from, offset, bytes, size, length);
    size += length;
  }

  @Override
  public SortedKeyValueIterator<Key, Value> deepCopy(IteratorEnvironment environment) {
    HitsIterator copy = new HitsIterator();
    copy.source = source.deepCopy(environment);
    return copy;
  }
}

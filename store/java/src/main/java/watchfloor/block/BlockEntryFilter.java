package watchfloor.block;

import java.io.IOException;
import java.util.HashSet;
import java.util.HexFormat;
import java.util.Map;
import java.util.Set;
import org.apache.accumulo.core.data.ArrayByteSequence;
import org.apache.accumulo.core.data.ByteSequence;
import org.apache.accumulo.core.data.Key;
import org.apache.accumulo.core.data.Value;
import org.apache.accumulo.core.iterators.Filter;
import org.apache.accumulo.core.iterators.IteratorEnvironment;
import org.apache.accumulo.core.iterators.SortedKeyValueIterator;

/**
 * Lets the index entries through that have hits of some blocks, whatever their fields and values. An entry's first block is
 * its qualifier; its value is the number of hits in it, 4 bytes, and for each other block the key and the number.
 */
public final class BlockEntryFilter extends Filter {
  /** The option with the keys of the blocks, in hexadecimal digits, with commas between them. */
  public static final String BLOCKS = "blocks";

  private Set<ByteSequence> blocks = Set.of();

  @Override
  public void init(
      SortedKeyValueIterator<Key, Value> source, Map<String, String> options, IteratorEnvironment environment)
      throws IOException {
    super.init(source, options, environment);
    blocks = new HashSet<>();
    for (String block : options.get(BLOCKS).split(",")) {
      blocks.add(new ArrayByteSequence(HexFormat.of().parseHex(block)));
    }
  }

  @Override
  public SortedKeyValueIterator<Key, Value> deepCopy(IteratorEnvironment environment) {
    BlockEntryFilter copy = (BlockEntryFilter) super.deepCopy(environment);
    copy.blocks = blocks;
    return copy;
  }

  @Override
  public boolean accept(Key key, Value value) {
    ByteSequence first = key.getColumnQualifierData();
    if (blocks.contains(first)) {
      return true;
    }
    for (int at = Integer.BYTES; at < value.getSize(); at += first.length() + Integer.BYTES) {
      if (blocks.contains(new ArrayByteSequence(value.get(), at, first.length()))) {
        return true;
      }
    }
    return false;
  }
}

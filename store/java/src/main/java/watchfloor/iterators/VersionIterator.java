package watchfloor.iterators;

import java.util.Collection;
import java.util.Map;
import org.apache.accumulo.core.data.ByteSequence;
import org.apache.accumulo.core.data.Key;
import org.apache.accumulo.core.data.Range;
import org.apache.accumulo.core.data.Value;
import org.apache.accumulo.core.iterators.IteratorEnvironment;
import org.apache.accumulo.core.iterators.SortedKeyValueIterator;

/**
 * Answers with the version of the jar that the tablet server has loaded it from, once for each tablet, and reads no
 * entry. So a client learns whether the servers have the iterators that it asks for.
 */
public class VersionIterator extends AnswerIterator {
  /** The version of the project. A resource would be read from the servers' class path even if they have another jar. */
  private static final String VERSION = "0.1.0";

  /** Returns the version of the jar that this class is in. */
  public static String version() {
    return VERSION;
  }

  @Override
  public void init(
      SortedKeyValueIterator<Key, Value> source, Map<String, String> options, IteratorEnvironment environment) {
    // The answer depends on nothing but the jar.
  }

  @Override
  public void seek(Range range, Collection<ByteSequence> families, boolean inclusive) {
    clearTop();
    // A scan that goes on after the answer begins behind its key.
    if (range.isStartKeyInclusive()) {
      topKey = range.getStartKey() == null ? new Key() : new Key(range.getStartKey());
      topValue = new Value(VERSION);
    }
  }

  @Override
  public void next() {
    clearTop();
  }

  @Override
  public SortedKeyValueIterator<Key, Value> deepCopy(IteratorEnvironment environment) {
    return new VersionIterator();
  }
}

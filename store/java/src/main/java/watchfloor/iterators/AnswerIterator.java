package watchfloor.iterators;

import org.apache.accumulo.core.data.Key;
import org.apache.accumulo.core.data.Value;
import org.apache.accumulo.core.iterators.SortedKeyValueIterator;

/** The common base of iterators that make one answer of many entries. It holds the current answer. */
public abstract class AnswerIterator implements SortedKeyValueIterator<Key, Value> {
  /** Null after the last answer. */
  protected Key topKey;

  protected Value topValue;

  protected final void clearTop() {
    topKey = null;
    topValue = null;
  }

  @Override
  public final boolean hasTop() {
    return topKey != null;
  }

  @Override
  public final Key getTopKey() {
    return topKey;
  }

  @Override
  public final Value getTopValue() {
    return topValue;
  }
}

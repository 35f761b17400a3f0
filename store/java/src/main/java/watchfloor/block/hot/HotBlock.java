package watchfloor.block.hot;

import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.accumulo.core.data.Key;
import watchfloor.block.vector.StoredVector;

/** The vectors of a block that scans have read, by the names of their fields. Several scans may use one at once. */
public final class HotBlock {
  /** About what a vector takes in memory beside its bytes. */
  private static final int OVERHEAD = 160;

  private final Key first;
  private final Map<String, StoredVector> vectors = new ConcurrentHashMap<>();
  private volatile int rows = -1;

  /** @param first the key of the first cell that the scans see */
  HotBlock(Key first) {
    this.first = new Key(first);
  }

  /** Returns whether the block is still the same, by the key of the first cell that a scan sees of it now. */
  boolean isSame(Key now) {
    return first.equals(now);
  }

  /** Returns the number of events, -1 if it is not known. */
  public int rows() {
    return rows;
  }

  public void setRows(int rows) {
    this.rows = rows;
  }

  /** Returns a field's vector; NONE if no event has the field or the scans do not see it, null if it was not read. */
  public StoredVector get(String field) {
    return vectors.get(field);
  }

  /** Keeps a field's vector; NONE if there is none. */
  public void put(String field, StoredVector vector) {
    vectors.put(field, vector);
  }

  public void remove(String field) {
    vectors.remove(field);
  }

  int weight() {
    long weight = OVERHEAD;
    for (StoredVector vector : vectors.values()) {
      weight += OVERHEAD + vector.size();
    }
    return (int) Math.min(weight, Integer.MAX_VALUE);
  }
}

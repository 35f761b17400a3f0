package watchfloor.bridge.scan;

import java.util.Map.Entry;
import org.apache.accumulo.core.data.Key;
import org.apache.accumulo.core.data.Range;
import org.apache.accumulo.core.data.Value;

/**
 * Reads a range by requests of growing size, so that the first rows are out at once and many rows cost few requests.
 * With a limit a request is no larger than its range's part of the events still wanted, by those of its answers so
 * far, and the range is not read on when all ranges together have as many as are wanted. Those that have not answered
 * yet are taken to have as many events in an answer as this one.
 */
final class RangeReader implements Feed.Reader, Feed.Appetite {
  /** The factor between the rows of a request and those of the next. */
  private static final int GROWTH = 8;

  private final EventStream stream;
  private final Demand demand;
  private final int most;
  private Range left;
  private int size;
  private boolean isAnswered;
  private long answers;
  private long events;
  /** A key before which no answer comes after the last one; null if none is known. */
  private Key following;

  /**
   * Makes the reader of a range.
   *
   * @param size the answers of its first request, if that is bounded
   * @param most the answers from which on a request is not bounded
   */
  RangeReader(EventStream stream, Demand demand, Range range, int size, int most) {
    this.stream = stream;
    this.demand = demand;
    this.most = most;
    this.size = Math.min(size, most);
    left = range;
  }

  @Override
  public void read(Feed feed) throws Exception {
    try {
      readOn(feed);
    } finally {
      beAnswered();
    }
  }

  private void beAnswered() {
    if (!isAnswered) {
      isAnswered = true;
      demand.beAnswered();
    }
  }

  private void readOn(Feed feed) throws Exception {
    while (left != null) {
      boolean isBounded = size < most;
      leaveAfter(feed.drain(stream.scanner(left, size, isBounded), isBounded ? size : Long.MAX_VALUE, this));
      if (left != null && !isMoreWanted()) {
        feed.awaitHunger();
      }
      size = nextSize();
    }
  }

  /** Leaves what comes after an answer's key; nothing if it is null, or if no further answer can be in the range. */
  private void leaveAfter(Key last) {
    boolean isLast = last == null || (following != null && left.afterEndKey(following));
    left = isLast ? null : new Range(last, false, left.getEndKey(), left.isEndKeyInclusive());
  }

  /** Counts the range's first answer, which was read by others. */
  void count(Entry<Key, Value> answer) {
    wantsMoreThan(answer.getValue());
    leaveAfter(answer.getKey());
    size = nextSize();
  }

  /** Counts that the range has no answer. */
  void countNothing() {
    left = null;
    beAnswered();
  }

  /** Counts that the range's first answer was postponed: what has the key comes next. */
  void postpone(Key key) {
    following = key;
    left = new Range(key, true, left.getEndKey(), left.isEndKeyInclusive());
    beAnswered();
  }

  /** Sets the answers of the next request. */
  void setSize(int answers) {
    size = Math.min(answers, most);
  }

  /** Returns the events of the answers so far. */
  long events() {
    return events;
  }

  /** Returns a key before which no answer comes after the last one; null if none is known. */
  Key following() {
    return following;
  }

  boolean isAtEnd() {
    return left == null;
  }

  private int nextSize() {
    long grown = Math.min((long) size * GROWTH, most);
    if (!demand.isLimited() || events == 0) {
      return (int) grown;
    }
    return (int) Math.max(1, Math.min(grown, Math.ceil(demand.share() * answers / events)));
  }

  @Override
  public boolean wantsMoreThan(Value answer) {
    boolean isBeat = stream.isBeat(answer);
    following = isBeat ? null : stream.following(answer);
    if (demand.isLimited() && !isBeat) {
      int found = stream.countEvents(answer);
      answers++;
      beAnswered();
      events += found;
      demand.take(found);
    }
    return isMoreWanted();
  }

  boolean isMoreWanted() {
    return demand.isMoreWanted(answers == 0 ? 0.0 : (double) events / answers);
  }
}

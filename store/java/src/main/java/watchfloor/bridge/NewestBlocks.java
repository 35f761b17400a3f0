package watchfloor.bridge;

import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/**
 * The newest block of each table, as the last scan of a connection has found it. For the next one it is a guess: blocks
 * may have been written or deleted since.
 */
public final class NewestBlocks {
  private final Map<String, Times> found = new ConcurrentHashMap<>();

  /** The times (µs) of a block's newest and oldest event. */
  private record Times(long newest, long oldest) {}

  /**
   * Notes the newest block that a scan has found.
   *
   * @param until the time (µs) before which all events are that the scan was for; of a newer block it can tell nothing
   * @param newest the time of the block's newest event
   * @param span the microseconds from it to the oldest
   */
  public void note(String table, long until, long newest, long span) {
    Times times = new Times(newest, newest < Long.MIN_VALUE + span ? Long.MIN_VALUE : newest - span);
    found.merge(table, times, (known, now) -> until > known.newest ? now : known);
  }

  /** Returns the time of the oldest event of a table's newest block; null if no event before {@code until} is as new. */
  public Long findOldest(String table, long until) {
    Times times = found.get(table);
    return times == null || times.oldest >= until ? null : times.oldest;
  }
}

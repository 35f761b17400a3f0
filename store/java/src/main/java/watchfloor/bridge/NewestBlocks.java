package watchfloor.bridge;

import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.accumulo.core.security.Authorizations;

/**
 * The newest block of each table, as the last scan of a connection with the same authorizations has found it. For the
 * next one it is a guess: blocks may have been written or deleted since. Of blocks that a scan may not see, nothing can
 * be told from how long it takes.
 */
public final class NewestBlocks {
  private final Map<View, Times> found = new ConcurrentHashMap<>();

  /** A table as scans with some authorizations see it. */
  public record View(String table, Authorizations authorizations) {}

  /** The times (µs) of a block's newest and oldest event. */
  private record Times(long newest, long oldest) {}

  /**
   * Notes the newest block that a scan has found.
   *
   * @param until the time (µs) before which all events are that the scan was for; of a newer block it can tell nothing
   * @param newest the time of the block's newest event
   * @param span the microseconds from it to the oldest
   */
  public void note(View view, long until, long newest, long span) {
    Times times = new Times(newest, newest < Long.MIN_VALUE + span ? Long.MIN_VALUE : newest - span);
    found.merge(view, times, (known, now) -> until > known.newest ? now : known);
  }

  /** Returns the time of the oldest event of the newest block; null if no event before {@code until} is as new. */
  public Long findOldest(View view, long until) {
    Times times = found.get(view);
    return times == null || times.oldest >= until ? null : times.oldest;
  }
}

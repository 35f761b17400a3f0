package watchfloor.bridge.scan;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map.Entry;
import java.util.concurrent.CancellationException;
import java.util.concurrent.Future;
import org.apache.accumulo.core.client.ScannerBase;
import org.apache.accumulo.core.data.Key;
import org.apache.accumulo.core.data.Range;
import org.apache.accumulo.core.data.Value;
import watchfloor.bridge.Threads;

/**
 * Reads the first answer of each range of a scan, of all ranges together: a request for several ranges costs client and
 * server little more than one for a single range. Servers end the scan of a range after its first answer.
 */
final class FirstRound {
  /** Opens the scanner of all ranges. */
  interface Opener {
    ScannerBase open() throws Exception;
  }

  /** Takes the first answers, in the order of the ranges; null of a range that has none. */
  interface Taker {
    void take(List<Entry<Key, Value>> answers);
  }

  private final List<Range> ranges;
  private final Future<?> thread;
  private volatile boolean closed;

  /** Starts to read, in a thread of its own, which calls {@code taker}, or {@code feeds} with what went wrong. */
  FirstRound(List<Range> ranges, Opener opener, Taker taker, List<Feed> feeds) {
    this.ranges = ranges;
    thread =
        Threads.POOL.submit(
            () -> {
              try {
                taker.take(read(opener));
              } catch (Throwable e) {
                feeds.forEach(feed -> feed.end(e));
              }
            });
  }

  private List<Entry<Key, Value>> read(Opener opener) throws Exception {
    List<Entry<Key, Value>> first = new ArrayList<>(Collections.nCopies(ranges.size(), null));
    try (ScannerBase source = opener.open()) {
      if (closed) {
        throw new CancellationException("closed");
      }
      for (Entry<Key, Value> answer : source) {
        for (int i = 0; i < ranges.size(); i++) {
          // A range of several tablets has an answer of each: only the first of them is known to be the next.
          boolean isFirst = first.get(i) == null || answer.getKey().compareTo(first.get(i).getKey()) < 0;
          if (isFirst && ranges.get(i).contains(answer.getKey())) {
            first.set(i, answer);
          }
        }
      }
      return first;
    }
  }

  /**
   * Wants no answers any more. May be called from any thread and repeatedly. The requests that are on their way are
   * waited for, so that their sessions are closed: a server goes on with what it was asked for in any case.
   */
  void close() {
    closed = true;
    if (!thread.isDone()) {
      Scans.interruptLater(thread);
    }
  }
}

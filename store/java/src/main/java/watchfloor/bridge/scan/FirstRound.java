package watchfloor.bridge.scan;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.Comparator;
import java.util.List;
import java.util.Map.Entry;
import java.util.concurrent.CancellationException;
import java.util.concurrent.Future;
import java.util.stream.IntStream;
import org.apache.accumulo.core.client.ScannerBase;
import org.apache.accumulo.core.data.Key;
import org.apache.accumulo.core.data.Range;
import org.apache.accumulo.core.data.Value;
import watchfloor.bridge.Threads;

/**
 * Reads the first answer of each range of a scan, of all ranges together: a request for several ranges costs client and
 * server little more than one for a single range. Servers end the scan of a range after its first answer. By the
 * answers it decides which ranges are read on.
 */
final class FirstRound {
  /** The ranges that a request is for. */
  private static final int RANGES_TOGETHER = 2;
  /** The wanted answers of a range, on average, beyond which all ranges are read on alike. */
  private static final int MOST_FORESEEN = 4;

  /** What a range has answered first. */
  private enum Kind {
    NOTHING,
    BEAT,
    POSTPONED,
    EVENTS
  }

  private final EventStream stream;
  private final List<Range> ranges;
  private final List<RangeReader> readers;
  private final List<Feed> feeds;
  private final Future<?> thread;
  private volatile boolean closed;
  /**
   * The feeds that read on when the batch of the first answers was handed over: earlier, they would take the processors
   * from those who bring its rows to the user.
   */
  private volatile List<Feed> readNext = List.of();

  /**
   * Starts to read, in a thread of its own, which gives each feed the answer of its range, or what went wrong. Readers
   * and feeds have the order of the ranges.
   */
  FirstRound(EventStream stream, List<Range> ranges, List<RangeReader> readers, List<Feed> feeds) {
    this.stream = stream;
    this.ranges = ranges;
    this.readers = readers;
    this.feeds = feeds;
    thread =
        Threads.POOL.submit(
            () -> {
              try {
                distribute(read());
              } catch (Throwable e) {
                feeds.forEach(feed -> feed.end(e));
              }
            });
  }

  /** Makes those feeds read on from which further answers are likely to be needed. */
  void readOn() {
    readNext.forEach(Feed::readOn);
    readNext = List.of();
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

  /** Returns the first answers, in the order of the ranges; null of a range that has none. */
  private List<Entry<Key, Value>> read() throws Exception {
    List<Entry<Key, Value>> first = new ArrayList<>(Collections.nCopies(ranges.size(), null));
    int requests = Math.max(1, ranges.size() / RANGES_TOGETHER);
    try (ScannerBase source = stream.firstScanner(ranges, requests)) {
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

  private Kind kind(Entry<Key, Value> answer) {
    if (answer == null) {
      return Kind.NOTHING;
    }
    if (stream.isBeat(answer.getValue())) {
      return Kind.BEAT;
    }
    return stream.isPostponed(answer.getKey(), answer.getValue()) ? Kind.POSTPONED : Kind.EVENTS;
  }

  /** Gives each feed the first answer of its range, and notes those that are likely to be read on. */
  private void distribute(List<Entry<Key, Value>> answers) {
    Kind[] kinds = answers.stream().map(this::kind).toArray(Kind[]::new);
    noteNewest(answers, kinds);
    for (int i = 0; i < kinds.length; i++) {
      count(kinds[i], readers.get(i), answers.get(i));
    }
    int[] foreseen = foresee(answers, kinds);
    List<Feed> likely = new ArrayList<>();
    for (int i = 0; i < kinds.length; i++) {
      if (foreseen == null ? readers.get(i).isMoreWanted() : foreseen[i] > 0) {
        likely.add(feeds.get(i));
      }
      if (foreseen != null && foreseen[i] > 0) {
        readers.get(i).setSize(foreseen[i]);
      }
    }
    readNext = likely;
    for (int i = 0; i < kinds.length; i++) {
      give(kinds[i], feeds.get(i), readers.get(i), answers.get(i));
    }
    List<Kind> all = List.of(kinds);
    if (all.contains(Kind.BEAT) || !all.contains(Kind.EVENTS)) {
      // Few events match: the first batch may be far away, so all shards look for it at once.
      feeds.forEach(Feed::readOn);
    }
  }

  /** Notes the newest of the blocks at which the ranges begin, as far as the answers tell. */
  private void noteNewest(List<Entry<Key, Value>> answers, Kind[] kinds) {
    IntStream.range(0, kinds.length)
        .filter(i -> kinds[i] == Kind.POSTPONED || kinds[i] == Kind.EVENTS)
        .mapToObj(i -> answers.get(i).getKey())
        .max(Comparator.comparingLong(stream::time))
        .ifPresent(stream::noteNewest);
  }

  private static void count(Kind kind, RangeReader reader, Entry<Key, Value> answer) {
    switch (kind) {
      case NOTHING:
        reader.countNothing();
        break;
      case POSTPONED:
        reader.postpone(answer.getKey());
        break;
      default:
        reader.count(answer);
    }
  }

  private static void give(Kind kind, Feed feed, RangeReader reader, Entry<Key, Value> answer) {
    switch (kind) {
      case NOTHING:
        feed.end(null);
        break;
      case POSTPONED:
        feed.postpone(answer.getKey(), reader);
        break;
      default:
        feed.take(answer.getKey(), answer.getValue(), reader.isAtEnd() ? null : reader);
    }
  }

  /** Returns how many further answers of each range are likely to be needed; null if that is not known, or if many. */
  private int[] foresee(List<Entry<Key, Value>> answers, Kind[] kinds) {
    if (!stream.isLimited()) {
      return null;
    }
    long[] given = new long[kinds.length];
    long[] next = new long[kinds.length];
    long[] spans = new long[kinds.length];
    Arrays.fill(given, Foresight.NONE);
    Arrays.fill(next, Foresight.NONE);
    for (int i = 0; i < kinds.length; i++) {
      if (kinds[i] == Kind.EVENTS) {
        given[i] = stream.time(answers.get(i).getKey());
      }
      if (!readers.get(i).isAtEnd()) {
        Key following = readers.get(i).following();
        if (following == null) {
          return null;
        }
        next[i] = stream.time(following);
        spans[i] = stream.span(following);
      }
    }
    double wanted = countWanted(kinds);
    return wanted > MOST_FORESEEN * kinds.length ? null : Foresight.foresee((int) wanted, given, next, spans);
  }

  /** Returns how many answers hold the wanted events if all have as many as the first ones have on average. */
  private double countWanted(Kind[] kinds) {
    long found = IntStream.range(0, kinds.length).filter(i -> kinds[i] == Kind.EVENTS).count();
    long events = readers.stream().mapToLong(RangeReader::events).sum();
    return events == 0 ? Double.MAX_VALUE : Math.ceil((double) stream.wantedEvents() * found / events);
  }
}

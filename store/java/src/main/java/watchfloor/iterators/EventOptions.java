package watchfloor.iterators;

import java.util.Base64;
import java.util.Map;
import java.util.TreeMap;
import org.apache.accumulo.core.iterators.OptionDescriber.IteratorOptions;
import watchfloor.iterators.filter.FilterProgram;

/** The options of the iterators that answer with events, whatever the layout. */
public final class EventOptions {
  /** Base64 of a {@link FilterProgram}; without it all events match. */
  public static final String FILTER = "filter";
  /** Names of the fields of an answer, separated by {@link #SEPARATOR}; without it answers have rows alone. */
  public static final String COLUMNS = "columns";
  /** Name of the time field, so that it can be among the columns. */
  public static final String TIME = "time";
  /** The greatest number of events that a block answers with, the newest; without it all. */
  public static final String MOST = "most";

  /**
   * The answers, heartbeats included, after which a scan ends; without it at its end. A scan that a server interrupts and
   * resumes may have more, and iterators that answer with single events do not heed it.
   */
  public static final String ANSWERS = "answers";

  /**
   * A time in microseconds. With it a scan reads one block at most: the first one, if that has events from this time on.
   * If it has none, or if none of its events matches, the scan answers with the next block's row alone, and ends.
   */
  public static final String NEW_SINCE = "new_since";

  public static final String SEPARATOR = "\u001F";

  private EventOptions() {}

  /** Returns the filter's program, null if all events match. */
  public static byte[] filter(Map<String, String> options) {
    String filter = options.get(FILTER);
    return filter == null ? null : Base64.getDecoder().decode(filter);
  }

  /** Returns the names of the fields of an answer. */
  public static String[] columns(Map<String, String> options) {
    String names = options.get(COLUMNS);
    return names == null || names.isEmpty() ? new String[0] : names.split(SEPARATOR, -1);
  }

  /** Returns {@link #MOST}. Throws IllegalArgumentException unless it is a number above 0. */
  public static int most(Map<String, String> options) {
    return positive(options, MOST);
  }

  /** Returns {@link #ANSWERS}. Throws IllegalArgumentException unless it is a number above 0. */
  public static int answers(Map<String, String> options) {
    return positive(options, ANSWERS);
  }

  /** Returns {@link #NEW_SINCE}, null if it is not given. */
  public static Long newSince(Map<String, String> options) {
    String time = options.get(NEW_SINCE);
    return time == null ? null : Long.valueOf(time);
  }

  private static int positive(Map<String, String> options, String name) {
    int number = Integer.parseInt(options.getOrDefault(name, Integer.toString(Integer.MAX_VALUE)));
    if (number < 1) {
      throw new IllegalArgumentException(name + " is " + number + "; it is 1 at least");
    }
    return number;
  }

  /** Throws an IllegalArgumentException that says what is wrong with the options, if anything is. */
  public static void check(Map<String, String> options) {
    most(options);
    answers(options);
    newSince(options);
    byte[] filter = filter(options);
    if (filter != null) {
      FilterProgram.check(filter);
    }
  }

  /** Returns the description of the options that Accumulo's shell shows. */
  public static IteratorOptions describe(String description) {
    Map<String, String> named = new TreeMap<>();
    named.put(FILTER, "base64 of a filter program; without it all events match");
    named.put(COLUMNS, "names of the wanted fields, separated by U+001F");
    named.put(TIME, "name of the time field");
    named.put(MOST, "how many events of a block are wanted at most, the newest");
    named.put(ANSWERS, "after how many answers a scan of blocks ends");
    named.put(NEW_SINCE, "a time in microseconds: the first block alone is read, if it has events from then on");
    return new IteratorOptions("events", description, named, null);
  }
}

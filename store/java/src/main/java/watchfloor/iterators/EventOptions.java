package watchfloor.iterators;

import java.util.Base64;
import java.util.Map;
import java.util.TreeMap;
import org.apache.accumulo.core.iterators.OptionDescriber.IteratorOptions;

/** The options of the iterators that answer with events, whatever the layout. */
public final class EventOptions {
  /** Base64 of a {@link FilterProgram}; without it all events match. */
  public static final String FILTER = "filter";
  /** Names of the wanted fields, separated by {@link #SEPARATOR}; without it the rows alone are wanted. */
  public static final String COLUMNS = "columns";
  /** Name of the time field, so that it can be among the columns. */
  public static final String TIME = "time";

  public static final String SEPARATOR = "\u001F";

  private EventOptions() {}

  /** The filter's program, null if all events match. */
  static byte[] filter(Map<String, String> options) {
    String filter = options.get(FILTER);
    return filter == null ? null : Base64.getDecoder().decode(filter);
  }

  static String[] columns(Map<String, String> options) {
    String names = options.get(COLUMNS);
    return names == null || names.isEmpty() ? new String[0] : names.split(SEPARATOR, -1);
  }

  /** Throws IllegalArgumentException that says what is wrong. */
  static void check(Map<String, String> options) {
    byte[] filter = filter(options);
    if (filter != null) {
      FilterProgram.check(filter);
    }
  }

  static IteratorOptions describe(String description) {
    Map<String, String> named = new TreeMap<>();
    named.put(FILTER, "base64 of a filter program; without it all events match");
    named.put(COLUMNS, "names of the wanted fields, separated by U+001F");
    named.put(TIME, "name of the time field");
    return new IteratorOptions("events", description, named, null);
  }
}

package watchfloor.iterators;

import java.util.Base64;
import java.util.List;
import java.util.Map;
import watchfloor.sorting.SortKey;
import watchfloor.sorting.SortProgram;
import watchfloor.sorting.TopRows;

/**
 * The options of the iterators that answer with the first events of an order, beside those of {@link EventOptions} and
 * {@link StatsOptions#MOST_BYTES}.
 */
public final class SortOptions {
  /** Base64 of a {@link SortProgram}. */
  public static final String PROGRAM = "sort";

  /** The number of events that are wanted. */
  public static final String EVENTS = "events";

  /** Base64 of a sort key; only events after it are wanted. */
  public static final String AFTER = "after";

  /** Base64 of a sort key; only events before it are wanted. */
  public static final String BOUND = "bound";

  /** Base64 of bytes with which all sort keys end. */
  public static final String SUFFIX = "suffix";

  private SortOptions() {}

  /** Returns the fields to sort by. Throws an IllegalArgumentException if there are none or they are damaged. */
  public static List<SortProgram.Order> orders(Map<String, String> options) {
    byte[] program = decode(options, PROGRAM);
    if (program == null) {
      throw new IllegalArgumentException("no " + PROGRAM);
    }
    return SortProgram.decode(program);
  }

  /** Returns the empty holder of the events that are wanted. */
  public static TopRows rows(Map<String, String> options) {
    return new TopRows(Integer.parseInt(options.get(EVENTS)), decode(options, AFTER), decode(options, BOUND));
  }

  /** Returns the empty writer of sort keys. */
  public static SortKey key(Map<String, String> options) {
    byte[] suffix = decode(options, SUFFIX);
    return new SortKey(suffix == null ? new byte[0] : suffix);
  }

  private static byte[] decode(Map<String, String> options, String name) {
    String given = options.get(name);
    return given == null ? null : Base64.getDecoder().decode(given);
  }
}

package watchfloor.iterators;

import java.util.Base64;
import java.util.Map;
import watchfloor.stats.StatsProgram;

/** The options of the iterators that answer with statistics, beside the filter and the time of {@link EventOptions}. */
public final class StatsOptions {
  /** Base64 of a {@link StatsProgram}. */
  public static final String PROGRAM = "program";

  /** The bytes of memory at which the groups so far are sent, so that a server never holds many. */
  public static final String MOST_BYTES = "most bytes";

  /** Nanoseconds after which the groups so far are sent: the scan then lets others run and can be ended. */
  public static final long NANOS = 250_000_000;

  private StatsOptions() {}

  /** Returns the program. Throws an IllegalArgumentException if there is none or it is damaged. */
  public static StatsProgram program(Map<String, String> options) {
    String program = options.get(PROGRAM);
    if (program == null) {
      throw new IllegalArgumentException("no " + PROGRAM);
    }
    return StatsProgram.decode(Base64.getDecoder().decode(program));
  }

  public static long mostBytes(Map<String, String> options) {
    return Long.parseLong(options.getOrDefault(MOST_BYTES, Long.toString(8 << 20)));
  }
}

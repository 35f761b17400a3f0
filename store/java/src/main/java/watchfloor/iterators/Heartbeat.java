package watchfloor.iterators;

import org.apache.accumulo.core.data.Value;

/**
 * An answer of a scan that has found nothing for a while: it says how far the scan has come, and nothing else.
 *
 * <p>With it a client that waits hears of its scan several times a second, and can end it there: a scan that is
 * interrupted in the middle of a request loses the name of its session, which the server then keeps. A row's answer
 * has no byte or several; a beat has one.
 */
public final class Heartbeat {
  /** Nothing was found for so long. */
  public static final long NANOS = 50_000_000;

  private Heartbeat() {}

  public static Value value() {
    return new Value(new byte[1], false);
  }

  public static boolean is(Value answer) {
    return answer.getSize() == 1;
  }
}

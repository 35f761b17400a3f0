package watchfloor.iterators;

import org.apache.accumulo.core.data.Value;

/**
 * The answer of a scan that has found nothing for a while. It says how far the scan has come, and nothing else.
 *
 * <p>A client that waits receives several of them a second, and can end its scan there. A scan that is interrupted in
 * the middle of a request would lose the ID of its session, which the server then keeps. The value of a row's answer
 * has no byte or several; that of a heartbeat has one.
 */
public final class Heartbeat {
  /** Nanoseconds without an answer after which a heartbeat is sent. */
  public static final long NANOS = 50_000_000;

  private Heartbeat() {}

  public static Value value() {
    return new Value(new byte[1], false);
  }

  /** Returns whether an answer's value is that of a heartbeat. */
  public static boolean is(Value answer) {
    return answer.getSize() == 1;
  }
}

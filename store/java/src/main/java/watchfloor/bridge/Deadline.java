package watchfloor.bridge;

import java.util.concurrent.Callable;
import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.TimeUnit;

/**
 * Ends client calls that would wait for ever, by interrupting the thread that waits. Many calls do so while ZooKeeper
 * or all tablet servers are gone.
 */
public final class Deadline {
  private static final ScheduledThreadPoolExecutor CLOCK = clock();

  private boolean done;
  private boolean struck;

  private Deadline() {}

  private static ScheduledThreadPoolExecutor clock() {
    ScheduledThreadPoolExecutor clock =
        new ScheduledThreadPoolExecutor(1, task -> Threads.daemon("watchfloor-deadline", task));
    clock.setRemoveOnCancelPolicy(true);
    return clock;
  }

  /**
   * Runs {@code call} in this thread and returns its result. An error after the deadline becomes a StoreException with
   * {@code message}.
   */
  public static <T> T call(long seconds, String message, Callable<T> call) throws Exception {
    Deadline deadline = new Deadline();
    Thread caller = Thread.currentThread();
    ScheduledFuture<?> alarm = CLOCK.schedule(() -> deadline.strike(caller), seconds, TimeUnit.SECONDS);
    try {
      T result = call.call();
      deadline.finish();
      return result;
    } catch (Exception | Error e) {
      if (deadline.finish()) {
        throw new StoreException(message + " within " + seconds + " s", e);
      }
      throw e;
    } finally {
      alarm.cancel(false);
    }
  }

  private synchronized void strike(Thread caller) {
    if (!done) {
      struck = true;
      caller.interrupt();
    }
  }

  /** Ends the deadline: no interrupt comes after this. Returns whether one came before, and clears it. */
  private synchronized boolean finish() {
    done = true;
    if (struck) {
      Thread.interrupted();
    }
    return struck;
  }
}

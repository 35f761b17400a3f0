package watchfloor.bridge;

import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;

/**
 * The bridge's threads. All are daemons, so that none keeps a process alive, and are reused, so that a scan starts at
 * once.
 */
public final class Threads {
  public static final ExecutorService POOL = Executors.newCachedThreadPool(task -> daemon("watchfloor-bridge", task));

  /** Runs short tasks after a delay. */
  public static final ScheduledExecutorService LATER =
      Executors.newSingleThreadScheduledExecutor(task -> daemon("watchfloor-bridge-later", task));

  private Threads() {}

  public static Thread daemon(String name, Runnable task) {
    Thread thread = new Thread(task, name);
    thread.setDaemon(true);
    return thread;
  }
}

package watchfloor.bridge;

import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;

/** The bridge's threads: all daemons, so that none keeps a process alive, and reused, so that a scan starts at once. */
public final class Threads {
  public static final ExecutorService POOL = Executors.newCachedThreadPool(task -> daemon("watchfloor-bridge", task));

  /** For what is due later and is over at once. */
  public static final ScheduledExecutorService LATER =
      Executors.newSingleThreadScheduledExecutor(task -> daemon("watchfloor-bridge-later", task));

  private Threads() {}

  public static Thread daemon(String name, Runnable task) {
    Thread thread = new Thread(task, name);
    thread.setDaemon(true);
    return thread;
  }
}

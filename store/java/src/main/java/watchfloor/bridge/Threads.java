package watchfloor.bridge;

import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;

/** The bridge's threads: all daemons, so that none keeps a process alive, and reused, so that a scan starts at once. */
final class Threads {
  static final ExecutorService POOL = Executors.newCachedThreadPool(task -> daemon("watchfloor-bridge", task));

  private Threads() {}

  static Thread daemon(String name, Runnable task) {
    Thread thread = new Thread(task, name);
    thread.setDaemon(true);
    return thread;
  }
}

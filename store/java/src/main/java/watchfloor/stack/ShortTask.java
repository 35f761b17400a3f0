package watchfloor.stack;

/** A task of a short-lived process, which ends with the task. */
@FunctionalInterface
public interface ShortTask {
  void run() throws Exception;

  /**
   * Runs a task and ends the process: with exit status 0, or with 1 and the error's causes on standard error. It does not
   * wait for threads that clients of servers have left.
   */
  static void runAndHalt(ShortTask task) {
    int code = 0;
    try {
      task.run();
    } catch (Exception | LinkageError e) {
      System.err.println(e);
      for (Throwable cause = e.getCause(); cause != null; cause = cause.getCause()) {
        System.err.println("caused by " + cause);
      }
      code = 1;
    }
    System.out.flush();
    Runtime.getRuntime().halt(code);
  }
}

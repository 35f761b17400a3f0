package watchfloor.workload;

/**
 * A client of Accumulo that makes load as a process of its own. Its loop is in Java; it is told its options once and
 * tells what it did line by line.
 */
public interface Workload {
  /** Runs until its work is done, or until {@code job.isStopping()} at the next place at which it may stop. */
  void run(Job job) throws Exception;
}

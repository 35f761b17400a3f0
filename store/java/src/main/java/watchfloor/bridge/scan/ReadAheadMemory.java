package watchfloor.bridge.scan;

import java.util.concurrent.atomic.AtomicLong;

/**
 * The bytes of the heap in which all scans of a process together keep what they have read ahead. A scan whose consumer
 * pauses keeps what it has, so without a common bound a few dozen of them would fill the heap.
 */
public final class ReadAheadMemory {
  /** That of this process. Columns of batches, and what else a process keeps, have the rest of its heap. */
  static final ReadAheadMemory OF_PROCESS = new ReadAheadMemory(Runtime.getRuntime().maxMemory() / 4);

  private final long size;
  private final AtomicLong free;

  ReadAheadMemory(long size) {
    this.size = size;
    free = new AtomicLong(size);
  }

  /** Returns whether the scans of this process hold more than they should, though each reads no further ahead. */
  public static boolean isShort() {
    return OF_PROCESS.free() < 0;
  }

  long size() {
    return size;
  }

  long free() {
    return free.get();
  }

  /** Takes bytes if so many are free, and returns whether they were. */
  boolean take(long bytes) {
    long before = free.get();
    while (before >= bytes) {
      if (free.compareAndSet(before, before - bytes)) {
        return true;
      }
      before = free.get();
    }
    return false;
  }

  /** Takes bytes even if fewer are free. */
  void takeAnyway(long bytes) {
    free.addAndGet(-bytes);
  }

  void giveBack(long bytes) {
    free.addAndGet(bytes);
  }
}

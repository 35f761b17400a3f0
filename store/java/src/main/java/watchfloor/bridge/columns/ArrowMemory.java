package watchfloor.bridge.columns;

import org.apache.arrow.memory.BufferAllocator;
import org.apache.arrow.memory.RootAllocator;

/** The memory of all vectors of this process. */
public final class ArrowMemory {
  /** Counts what was exported, too, until its reader releases it. */
  public static final BufferAllocator ALLOCATOR = new RootAllocator();

  private ArrowMemory() {}

  /** Returns the bytes that are in use, by this process's vectors or by readers of what was exported. */
  public static long allocated() {
    return ALLOCATOR.getAllocatedMemory();
  }
}

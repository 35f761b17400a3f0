package watchfloor.bridge.columns;

import org.apache.arrow.memory.BufferAllocator;
import org.apache.arrow.memory.RootAllocator;

/** The allocator of all vectors of this process. */
public final class ArrowMemory {
  /** Allocates all vectors. It counts exported vectors too, until their reader releases them. */
  public static final BufferAllocator ALLOCATOR = new RootAllocator();

  private ArrowMemory() {}

  /** Returns the number of bytes in use, by this process's vectors or by readers of exported ones. */
  public static long allocated() {
    return ALLOCATOR.getAllocatedMemory();
  }
}

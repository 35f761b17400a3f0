package watchfloor.bridge.scan;

import java.util.Arrays;
import java.util.Map.Entry;
import java.util.concurrent.CancellationException;
import java.util.concurrent.Future;
import org.apache.accumulo.core.client.Scanner;
import org.apache.accumulo.core.client.ScannerBase;
import org.apache.accumulo.core.data.Key;
import org.apache.accumulo.core.data.Value;
import watchfloor.bridge.Threads;

/**
 * Reads entries ahead in a thread of its own. The thread appends to one buffer. The consumer swaps it for an empty one
 * and reads it without locks, so an entry never waits for a full chunk.
 */
final class Feed {
  /** The work of a feed's thread: opens scanners and drains them. */
  interface Reader {
    void read(Feed feed) throws Exception;
  }

  /** Decides how far a feed reads ahead. The feed's thread calls it with each value that it has read. */
  interface Appetite {
    /** Reads on whatever the consumer does, as far as there is memory. */
    Appetite ENDLESS = value -> true;

    /** Returns whether the feed should read on after this value. If not, it waits until the consumer wants more. */
    boolean wantsMoreThan(Value value);
  }

  private static final int CAPACITY = 8192;

  private final ReadAheadMemory memory;
  private final long maxBytes;
  private final long ownBytes;
  /** Null while no thread reads; guarded by this. */
  private Future<?> thread;
  /** Reads on in a thread once the consumer wants more than there is; guarded by this. */
  private Reader rest;
  /** A key before which there is no entry, which the consumer has not been told yet; guarded by this. */
  private Key untold;

  // The buffer to which the reader appends, and its state; guarded by this.
  private Key[] keys = new Key[64];
  private Value[] values = new Value[64];
  private int size;
  private long bytes;
  private boolean waiting;
  /** Whether the consumer has found nothing and waits for the next entry. */
  private boolean hungry;
  private ScannerBase scanner;
  private Throwable error;
  private boolean done;
  private boolean closed;

  // The buffer that the consumer reads.
  private Key[] takenKeys = new Key[64];
  private Value[] takenValues = new Value[64];
  private int taken;
  private int at = -1;
  /** The bytes of this buffer's values, consumed or not; guarded by this. */
  private long takenBytes;

  /** A key before which no further entry of this feed comes; null if none is known. Only the consumer uses it. */
  Key next;

  /**
   * Makes a feed that nobody reads for yet.
   *
   * @param memory in which values wait to be taken
   * @param maxBytes of values that may wait
   * @param ownBytes of values that may wait even if no memory is free
   */
  Feed(ReadAheadMemory memory, long maxBytes, long ownBytes) {
    this.memory = memory;
    this.maxBytes = maxBytes;
    this.ownBytes = ownBytes;
  }

  /** Starts a thread that reads; does nothing if this was closed. */
  synchronized void begin(Reader reader) {
    if (!closed) {
      thread = Threads.POOL.submit(() -> run(reader));
    }
  }

  /**
   * Takes an entry that was read by others, and who reads on, in a thread that starts when the consumer wants more;
   * null if no further entry follows.
   */
  synchronized void take(Key key, Value value, Reader reader) {
    if (closed) {
      return;
    }
    memory.takeAnyway(value.getSize());
    append(key, value);
    rest = reader;
    if (reader == null) {
      end(null);
    }
  }

  /** Takes who reads on, as {@link #take} does, where there is no entry before a key and none from there on was read. */
  synchronized void postpone(Key key, Reader reader) {
    if (!closed) {
      untold = key;
      rest = reader;
      notifyAll();
    }
  }

  /** Starts the thread of who reads on, if there is one that has not started. */
  synchronized void readOn() {
    if (rest != null) {
      begin(rest);
      rest = null;
    }
  }

  /** Ends the entries, with a failure or, if it is null, without. */
  synchronized void end(Throwable failure) {
    error = failure;
    done = true;
    notifyAll();
  }

  private void run(Reader reader) {
    Throwable failure = null;
    try {
      reader.read(this);
    } catch (Throwable e) {
      failure = e;
    }
    end(failure);
  }

  /**
   * Reads a scanner to its end or until {@code most} entries have been read, and closes it.
   *
   * @return the last key if {@code most} was reached, else null
   */
  Key drain(ScannerBase source, long most) throws InterruptedException {
    return drain(source, most, Appetite.ENDLESS);
  }

  /** Reads a scanner as {@link #drain(ScannerBase, long)} does, and waits where there is no appetite. */
  Key drain(ScannerBase source, long most, Appetite appetite) throws InterruptedException {
    try (source) {
      synchronized (this) {
        if (closed) {
          throw new CancellationException("closed");
        }
        scanner = source;
      }
      long count = 0;
      for (Entry<Key, Value> entry : source) {
        boolean more = appetite.wantsMoreThan(entry.getValue());
        add(entry.getKey(), entry.getValue());
        if (++count == most) {
          return entry.getKey();
        }
        if (!more) {
          awaitHunger();
        }
      }
      return null;
    } finally {
      synchronized (this) {
        scanner = null;
      }
    }
  }

  private synchronized void add(Key key, Value value) throws InterruptedException {
    if (!closed && !takeRoom(value.getSize())) {
      awaitRoom(value.getSize());
    }
    if (closed) {
      throw new CancellationException("closed");
    }
    append(key, value);
  }

  private void append(Key key, Value value) {
    if (size == keys.length) {
      keys = Arrays.copyOf(keys, size * 2);
      values = Arrays.copyOf(values, size * 2);
    }
    keys[size] = key;
    values[size++] = value;
    bytes += value.getSize();
    if (size == 1) {
      notifyAll();
    }
  }

  /** Takes memory for one more value. Returns false if the value must wait for the consumer. */
  private boolean takeRoom(long more) {
    if (size == CAPACITY) {
      return false;
    }
    if (bytes + more <= ownBytes || (size == 0 && hungry)) {
      memory.takeAnyway(more);
      return true;
    }
    return bytes < maxBytes && memory.take(more);
  }

  private void awaitRoom(long more) throws InterruptedException {
    // The value is there already, and the scanner has read as much again ahead of it.
    memory.takeAnyway(2 * more);
    waiting = true;
    try {
      do {
        wait();
      } while (!closed && !takeRoom(more));
    } finally {
      waiting = false;
      memory.giveBack(2 * more);
    }
  }

  /** Gives the memory of both buffers back. Nothing is added after it. */
  private void giveBack() {
    memory.giveBack(bytes + takenBytes);
    bytes = 0;
    takenBytes = 0;
  }

  /** Waits until the consumer has found nothing and waits for the next entry. */
  synchronized void awaitHunger() throws InterruptedException {
    waiting = true;
    try {
      while (!closed && !(size == 0 && hungry)) {
        wait();
      }
    } finally {
      waiting = false;
    }
    if (closed) {
      throw new CancellationException("closed");
    }
  }

  /** The result of {@link #advance}. */
  enum Head {
    ENTRY,
    END,
    NOTHING_YET,
    /** There is no entry before {@link #next}, which is known now. Nobody reads on yet. */
    POSTPONED
  }

  /**
   * Moves to the next entry and waits for it for at most {@code millis}. Throws the reader's exception if it failed.
   */
  Head advance(long millis) throws Exception {
    if (at + 1 < taken) {
      takenValues[at] = null;
      at++;
      return Head.ENTRY;
    }
    synchronized (this) {
      if (size == 0 && !done && !closed && untold == null) {
        hungry = true;
        if (waiting) {
          notifyAll();
        }
        readOn();
        if (millis > 0) {
          wait(millis);
        }
      }
      if (closed) {
        throw new CancellationException("closed");
      }
      if (untold != null) {
        next = untold;
        untold = null;
        hungry = false;
        return Head.POSTPONED;
      }
      if (size == 0) {
        if (!done) {
          return Head.NOTHING_YET;
        }
        giveBack();
        if (error instanceof Exception) {
          throw (Exception) error;
        }
        if (error != null) {
          throw (Error) error;
        }
        return Head.END;
      }
      swap();
      return Head.ENTRY;
    }
  }

  /** Swaps the two buffers: the consumer gets the reader's entries, and the reader an empty buffer. */
  private void swap() {
    Arrays.fill(takenKeys, 0, taken, null);
    Arrays.fill(takenValues, 0, taken, null);
    Key[] freeKeys = takenKeys;
    Value[] freeValues = takenValues;
    takenKeys = keys;
    takenValues = values;
    taken = size;
    at = 0;
    keys = freeKeys;
    values = freeValues;
    memory.giveBack(takenBytes);
    takenBytes = bytes;
    size = 0;
    bytes = 0;
    hungry = false;
    if (waiting) {
      notifyAll();
    }
  }

  /** Returns whether the next entry is at hand. */
  synchronized boolean isNextAtHand() {
    return at + 1 < taken || size > 0;
  }

  /** Returns whether it is known that no entry follows the one at which this stands, which is not needed any more. */
  synchronized boolean isAtEnd() {
    boolean isAtEnd = at + 1 >= taken && size == 0 && done && error == null;
    if (isAtEnd) {
      giveBack();
    }
    return isAtEnd;
  }

  Key key() {
    return takenKeys[at];
  }

  Value value() {
    Value value = takenValues[at];
    if (value == null) {
      throw new CancellationException("closed");
    }
    return value;
  }

  /** Stops the reader and the servers' work. May be called from any thread. */
  void close() {
    ScannerBase open;
    boolean endsByItself;
    synchronized (this) {
      giveBack();
      // The reader's thread may hold this feed for as long as a server takes to answer.
      Arrays.fill(values, null);
      Arrays.fill(takenValues, null);
      if (closed || done || thread == null) {
        closed = true;
        notifyAll();
        return;
      }
      closed = true;
      open = scanner;
      // A BatchScanner sends its requests from other threads, so this one can be interrupted at once. A thread between
      // two scanners waits here, or finds this closed before it reads.
      endsByItself = open == null || open instanceof Scanner;
      notifyAll();
    }
    if (!endsByItself) {
      // Cancels before closing: a BatchScanner's iterator that finds its scanner closed logs that as an error.
      thread.cancel(true);
    }
    if (open != null) {
      try {
        open.close();
      } catch (IllegalStateException e) {
        // The client was closed meanwhile by another thread, and its scans with it.
      }
    }
    if (endsByItself) {
      Scans.interruptLater(thread);
    }
  }
}

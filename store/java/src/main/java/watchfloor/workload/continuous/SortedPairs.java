package watchfloor.workload.continuous;

import java.io.BufferedInputStream;
import java.io.DataInputStream;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.List;
import java.util.PriorityQueue;

/**
 * Sorts pairs of numbers by the first one, of which there may be more than fit into memory: full buffers are sorted and
 * written to files, which are merged in the end. One thread adds.
 */
final class SortedPairs {
  private static final int READ_BYTES = 1 << 18;
  private static final int WRITE_PAIRS = 1 << 13;
  private static final int SMALL = 16;

  private final Path folder;
  private final long[] keys;
  private final long[] others;
  private int size;
  private final List<Path> files = new ArrayList<>();

  /** @param capacity the pairs that are held in memory, 16 bytes each */
  SortedPairs(Path folder, int capacity) {
    this.folder = folder;
    keys = new long[capacity];
    others = new long[capacity];
  }

  void add(long key, long other) throws IOException {
    if (size == keys.length) {
      spill();
    }
    keys[size] = key;
    others[size++] = other;
  }

  /** Writes what is held to a file; called a last time when all is added. */
  void spill() throws IOException {
    if (size == 0) {
      return;
    }
    sort(0, size - 1);
    Path file = Files.createTempFile(folder, "pairs", ".run");
    files.add(file);
    ByteBuffer buffer = ByteBuffer.allocateDirect(16 * WRITE_PAIRS);
    try (FileChannel channel = FileChannel.open(file, StandardOpenOption.WRITE)) {
      for (int i = 0; i < size; i++) {
        buffer.putLong(keys[i]).putLong(others[i]);
        if (!buffer.hasRemaining() || i == size - 1) {
          buffer.flip();
          while (buffer.hasRemaining()) {
            channel.write(buffer);
          }
          buffer.clear();
        }
      }
    }
    size = 0;
  }

  /** Quicksort with the middle of three as pivot, and an insertion sort of what is small. */
  private void sort(int low, int high) {
    while (high - low > SMALL) {
      long pivot = middle(keys[low], keys[(low + high) >>> 1], keys[high]);
      int left = low;
      int right = high;
      while (left <= right) {
        while (keys[left] < pivot) {
          left++;
        }
        while (keys[right] > pivot) {
          right--;
        }
        if (left <= right) {
          swap(left++, right--);
        }
      }
      // The smaller part is sorted first, so that the depth stays logarithmic.
      if (right - low < high - left) {
        sort(low, right);
        low = left;
      } else {
        sort(left, high);
        high = right;
      }
    }
    for (int i = low + 1; i <= high; i++) {
      for (int j = i; j > low && keys[j - 1] > keys[j]; j--) {
        swap(j - 1, j);
      }
    }
  }

  private static long middle(long a, long b, long c) {
    return Math.max(Math.min(a, b), Math.min(Math.max(a, b), c));
  }

  private void swap(int a, int b) {
    long key = keys[a];
    keys[a] = keys[b];
    keys[b] = key;
    long other = others[a];
    others[a] = others[b];
    others[b] = other;
  }

  /** Takes pairs in the order of their keys. */
  interface Taker {
    void take(long key, long other);
  }

  /** Hands over all pairs of several sorters in the order of their keys, and removes their files. */
  static void merge(List<SortedPairs> sorters, Taker taker) throws IOException {
    PriorityQueue<Run> runs = new PriorityQueue<>((a, b) -> Long.compare(a.key, b.key));
    try {
      for (SortedPairs sorter : sorters) {
        for (Path file : sorter.files) {
          runs.add(new Run(file));
        }
      }
      while (!runs.isEmpty()) {
        Run run = runs.poll();
        taker.take(run.key, run.other);
        if (run.next()) {
          runs.add(run);
        } else {
          run.close();
        }
      }
    } finally {
      for (Run run : runs) {
        run.close();
      }
      for (SortedPairs sorter : sorters) {
        for (Path file : sorter.files) {
          Files.deleteIfExists(file);
        }
      }
    }
  }

  private static final class Run {
    private final DataInputStream in;
    private long left;
    private long key;
    private long other;

    Run(Path file) throws IOException {
      in = new DataInputStream(new BufferedInputStream(Files.newInputStream(file), READ_BYTES));
      left = Files.size(file) / 16;
      next();
    }

    private boolean next() throws IOException {
      if (left-- == 0) {
        return false;
      }
      key = in.readLong();
      other = in.readLong();
      return true;
    }

    private void close() throws IOException {
      in.close();
    }
  }
}

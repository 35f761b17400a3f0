package watchfloor.workload.continuous;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class SortedPairsTest {
  @TempDir Path folder;

  private void check(int pairs, int capacity, int sorters, long keys) throws Exception {
    SplittableRandom random = new SplittableRandom(pairs + capacity + keys);
    List<SortedPairs> parts = new ArrayList<>();
    for (int i = 0; i < sorters; i++) {
      parts.add(new SortedPairs(folder, capacity));
    }
    List<List<Long>> given = new ArrayList<>();
    for (int i = 0; i < pairs; i++) {
      long key = random.nextLong(keys);
      parts.get(i % sorters).add(key, i);
      given.add(List.of(key, (long) i));
    }
    for (SortedPairs part : parts) {
      part.spill();
    }
    List<List<Long>> merged = new ArrayList<>();
    SortedPairs.merge(parts, (key, other) -> merged.add(List.of(key, other)));
    List<Long> order = merged.stream().map(pair -> pair.get(0)).collect(Collectors.toList());
    assertEquals(order.stream().sorted().collect(Collectors.toList()), order);
    merged.sort((a, b) -> Long.compare(a.get(1), b.get(1)));
    assertEquals(given, merged);
    try (var left = Files.list(folder)) {
      assertEquals(0, left.count());
    }
  }

  @Test
  void allPairsComeInOrderWhateverFitsIntoMemory() throws Exception {
    for (int capacity : new int[] {1, 2, 17, 1000, 5000}) {
      for (int sorters : new int[] {1, 3}) {
        check(2000, capacity, sorters, Long.MAX_VALUE);
        check(2000, capacity, sorters, 7);
        check(2000, capacity, sorters, 1);
      }
    }
    check(0, 10, 2, 1);
  }

  @Test
  void pairsThatAreSortedAlreadyTakeNoLonger() throws Exception {
    SortedPairs up = new SortedPairs(folder, 300_000);
    SortedPairs down = new SortedPairs(folder, 300_000);
    for (int i = 0; i < 300_000; i++) {
      up.add(i, i);
      down.add(-i, i);
    }
    up.spill();
    down.spill();
    long[] last = {Long.MIN_VALUE, 0};
    SortedPairs.merge(List.of(up, down), (key, other) -> {
      assertEquals(true, key >= last[0]);
      last[0] = key;
      last[1]++;
    });
    assertEquals(600_000, last[1]);
  }
}

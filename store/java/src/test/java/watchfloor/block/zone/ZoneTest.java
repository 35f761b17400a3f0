package watchfloor.block.zone;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static watchfloor.iterators.Programs.text;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import java.util.Random;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import watchfloor.block.vector.Vectors;
import watchfloor.iterators.filter.Condition;
import watchfloor.iterators.filter.Verdict;

class ZoneTest {
  private final Random random = new Random(5);

  private static long hash(byte[] value) {
    return BloomFilter.hash(value, 0, value.length);
  }

  private static long[] hashes(List<byte[]> values) {
    return values.stream().mapToLong(ZoneTest::hash).toArray();
  }

  @Test
  void hashesAreThoseOfXxh64() {
    assertEquals(0xEF46DB3751D8E999L, hash(text("")));
    assertEquals(0x44BC2CF5AD770999L, hash(text("abc")));
    long[] all = BloomFilter.hashes(text("abc"), new int[] {0, 3});
    assertEquals(List.of(hash(text("")), hash(text("abc"))), Arrays.stream(all).boxed().toList());
  }

  @Test
  void aFilterHasAllItsValuesAndFewOthers() {
    for (int count : new int[] {1, 2, 25, 1000, 16_384}) {
      long[] hashes = hashes(IntStream.range(0, count).mapToObj(i -> text("value " + i)).toList());
      byte[] filter = BloomFilter.of(hashes, IntStream.range(0, count).toArray());
      assertTrue(filter.length % 32 == 0 && filter.length <= count * 10 / 8 + 32, "bytes: " + filter.length);
      byte[] within = new byte[filter.length + 7];
      System.arraycopy(filter, 0, within, 3, filter.length);
      int others = 0;
      for (long hash : hashes) {
        assertTrue(BloomFilter.mayHave(within, 3, 3 + filter.length, hash));
      }
      for (int i = 0; i < 20_000; i++) {
        others += BloomFilter.mayHave(within, 3, 3 + filter.length, hash(text("other " + i))) ? 1 : 0;
      }
      assertTrue(others < 600, others + " of 20,000 others, in a filter of " + count);
    }
  }

  private byte[] word() {
    return text("w".repeat(random.nextInt(3) == 0 ? 70 : 0) + (char) ('a' + random.nextInt(6)) + random.nextInt(3));
  }

  private Condition condition() {
    byte[] low = random.nextInt(3) == 0 ? null : word();
    byte[] high = random.nextInt(3) == 0 ? null : word();
    switch (random.nextInt(3)) {
      case 0:
        return new Condition.Equal(word());
      case 1:
        byte[][] some = new byte[random.nextInt(20)][];
        Arrays.setAll(some, i -> word());
        return new Condition.Member(some);
      default:
        return new Condition.Interval(low, random.nextBoolean(), high, random.nextBoolean());
    }
  }

  @Test
  void verdictsAgreeWithAllValues() {
    int[] verdicts = new int[3];
    for (int round = 0; round < 20_000; round++) {
      List<byte[]> values = new ArrayList<>();
      for (int i = random.nextInt(5); i >= 0; i--) {
        values.add(random.nextInt(5) == 0 ? null : word());
      }
      byte[] vector = random.nextBoolean() ? Vectors.plain(0, values) : Vectors.dictionary(0, 1, values);
      Zone zone = new Zone("a field");
      zone.wrap(Vectors.zone(vector, random.nextBoolean() ? values : null));
      Condition condition = condition();
      Verdict verdict = zone.within(condition, Zone.hashes(condition));
      List<byte[]> known = values.stream().filter(Objects::nonNull).toList();
      long found = known.stream().filter(value -> condition.test(value, 0, value.length)).count();
      assertTrue(verdict != Verdict.NONE || found == 0);
      assertTrue(verdict != Verdict.ALL || found == values.size());
      assertTrue(zone.exists() != Verdict.ALL || known.size() == values.size());
      verdicts[verdict.ordinal()]++;
    }
    assertTrue(Arrays.stream(verdicts).allMatch(count -> count > 500), Arrays.toString(verdicts));
  }

  @Test
  void noZoneMeansNoValue() {
    Zone zone = new Zone("a field");
    zone.wrap(null);
    Condition condition = new Condition.Equal(text("a"));
    assertEquals(Verdict.NONE, zone.exists());
    assertEquals(Verdict.NONE, zone.within(condition, Zone.hashes(condition)));
  }

  @Test
  void aDamagedZoneIsRefused() {
    byte[] whole = Vectors.zone(Vectors.plain(0, List.of(text("a"), text("b"))), List.of(text("a"), text("b")));
    Zone zone = new Zone("a field");
    for (int i = 0; i < whole.length; i++) {
      byte[] damaged = whole.clone();
      damaged[i] ^= 1 << random.nextInt(8);
      assertThrows(IllegalStateException.class, () -> zone.wrap(damaged));
      byte[] cut = Arrays.copyOf(whole, i);
      assertThrows(IllegalStateException.class, () -> zone.wrap(cut));
    }
  }
}

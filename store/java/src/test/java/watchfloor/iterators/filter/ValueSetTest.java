package watchfloor.iterators.filter;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static watchfloor.iterators.Programs.join;
import static watchfloor.iterators.Programs.packed;
import static watchfloor.iterators.Programs.u32;

import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.TreeSet;
import org.junit.jupiter.api.Test;
import watchfloor.iterators.Programs;

class ValueSetTest {
  private final Random random = new Random(3);

  private byte[] draw(int most) {
    byte[] value = new byte[random.nextInt(most)];
    for (int i = 0; i < value.length; i++) {
      value[i] = (byte) (random.nextInt(4) * 85);
    }
    return value;
  }

  private static ValueSet set(byte[][] values, byte[][] lows, byte[][] highs) {
    return ValueSet.of(Programs.set(values, lows, highs));
  }

  @Test
  void asByBruteForce() {
    for (int turn = 0; turn < 300; turn++) {
      int most = 2 + random.nextInt(12);
      TreeSet<byte[]> values = new TreeSet<>(Arrays::compareUnsigned);
      for (int i = random.nextInt(40); i > 0; i--) {
        values.add(draw(most));
      }
      TreeSet<byte[]> ends = new TreeSet<>(Arrays::compareUnsigned);
      for (int i = random.nextInt(6); i > 0; i--) {
        ends.add(draw(most));
      }
      byte[][] sorted = ends.toArray(byte[][]::new);
      byte[][] lows = new byte[sorted.length / 2][];
      byte[][] highs = new byte[lows.length][];
      for (int i = 0; i < lows.length; i++) {
        lows[i] = sorted[2 * i];
        highs[i] = sorted[2 * i + 1];
      }
      ValueSet set = set(values.toArray(byte[][]::new), lows, highs);
      for (int i = 0; i < 60; i++) {
        check(set, values, lows, highs, draw(most + 1));
      }
    }
  }

  private static void check(ValueSet set, TreeSet<byte[]> values, byte[][] lows, byte[][] highs, byte[] value) {
    boolean member = values.contains(value);
    byte[] next = values.ceiling(value);
    for (int i = 0; i < lows.length; i++) {
      boolean within = Arrays.compareUnsigned(lows[i], value) <= 0 && Arrays.compareUnsigned(value, highs[i]) <= 0;
      member |= within;
      byte[] first = within ? value : lows[i];
      if (Arrays.compareUnsigned(first, value) >= 0 && (next == null || Arrays.compareUnsigned(first, next) < 0)) {
        next = first;
      }
    }
    byte[] around = join(new byte[] {1, 2}, value, new byte[] {3});
    assertEquals(member, set.contains(around, 2, 2 + value.length));
    assertArrayEquals(next, set.next(around, 2, 2 + value.length));
  }

  @Test
  void boundsTellWhereNothingCanBe() {
    byte[][] none = {};
    ValueSet set = set(new byte[][] {{2}, {5}}, new byte[][] {{10}}, new byte[][] {{20}});
    assertEquals(Verdict.NONE, within(set, 3, 4));
    assertEquals(Verdict.SOME, within(set, 3, 5));
    assertEquals(Verdict.ALL, within(set, 5, 5));
    assertEquals(Verdict.NONE, within(set, 6, 9));
    assertEquals(Verdict.SOME, within(set, 6, 10));
    assertEquals(Verdict.SOME, within(set, 19, 30));
    assertEquals(Verdict.NONE, within(set, 21, 30));
    assertEquals(Verdict.NONE, within(set(none, none, none), 0, 127));
  }

  private static Verdict within(ValueSet set, int low, int high) {
    ValueBounds bounds = new ValueBounds();
    bounds.set(new byte[] {(byte) low, (byte) high}, 0, 1, 1, 2, false);
    return set.within(bounds);
  }

  @Test
  void aSetIsKnownByItsDigestAlone() {
    byte[][] none = {};
    byte[] packed = Programs.set(new byte[][] {{7}}, none, none);
    byte[] program = join(Programs.named(packed), Programs.listed(Programs.scalar("f"), 0));
    FilterProgram.check(program);
    String name = ValueSets.PREFIX + ValueSets.digest(packed);
    String other = Programs.base64(Programs.set(new byte[][] {{8}}, none, none));
    assertThrows(IllegalArgumentException.class, () -> ValueSets.load(Map.of(name, other)));
    List<ValueSet> loaded = ValueSets.load(Map.of(name, Programs.base64(packed), "most", "1"));
    assertEquals(1, loaded.size());
    assertSame(loaded.get(0), ValueSets.load(Map.of(name, other)).get(0), "what is known is not unpacked again");
    assertSame(loaded.get(0), ValueSets.find(ValueSets.digest(packed)));
    assertThrows(IllegalArgumentException.class, () -> FilterProgram.check(join(program, new byte[] {0})));
  }

  @Test
  void damagedSetsAreRefused() {
    byte[][] bad = {
      {},
      {1, 2, 3},
      u32(-1),
      u32(100),
      join(u32(100), new byte[] {1, 2, 3}),
      packed(new byte[] {}),
      packed(join(u32(1), u32(0))),
      packed(join(u32(1), u32(0), u32(5))),
      packed(join(u32(1), u32(0), u32(-1))),
      packed(join(u32(Integer.MAX_VALUE), u32(Integer.MAX_VALUE))),
      packed(join(u32(-1), u32(0)))
    };
    for (byte[] packed : bad) {
      assertThrows(RuntimeException.class, () -> ValueSet.of(packed));
    }
  }
}

package watchfloor.block.vector;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static watchfloor.iterators.Programs.number;
import static watchfloor.iterators.Programs.text;
import static watchfloor.iterators.Programs.u16;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import watchfloor.iterators.BigEndian;
import watchfloor.iterators.Tables;
import watchfloor.iterators.filter.ValueBounds;
import watchfloor.iterators.filter.Condition;
import watchfloor.iterators.filter.Verdict;

class VectorTest extends VectorReading {
  private static final int[] CODECS = {Codec.NONE, Codec.ZSTD, Codec.LZ4};

  @Test
  void dictionariesAndPlainVectors() {
    for (int codec : CODECS) {
      for (boolean nulls : new boolean[] {false, true}) {
        for (int distinct : new int[] {1, 3, 255, 2000}) {
          for (int rows : new int[] {1, 7, 1500}) {
            List<byte[]> values = strings(rows, distinct, nulls);
            assertReads(values, Vectors.plain(codec, values));
            assertReads(values, Vectors.dictionary(codec, 2, values));
            assertReads(values, Vectors.dictionary(codec, 4, values));
            if (distinct < 256) {
              assertReads(values, Vectors.dictionary(codec, 1, values));
            }
          }
        }
      }
    }
  }

  @Test
  void numbers() {
    for (int codec : CODECS) {
      for (int rows : new int[] {1, 9, 2000}) {
        for (boolean nulls : new boolean[] {false, true}) {
          assertReadsNumbers(codec, 1, 1, draw(rows, 1, 0, 256, nulls), nulls);
          assertReadsNumbers(codec, 2, 1, draw(rows, 2, 400, 200, nulls), nulls);
          assertReadsNumbers(codec, 2, 2, draw(rows, 2, 0, 65536, nulls), nulls);
          assertReadsNumbers(codec, 8, 1, draw(rows, 8, (1L << 63) - 100, 255, nulls), nulls);
          assertReadsNumbers(codec, 8, 2, draw(rows, 8, 1L << 63, 65536, nulls), nulls);
          assertReadsNumbers(codec, 8, 4, draw(rows, 8, Tables.NOW, 1L << 32, nulls), nulls);
          assertReadsNumbers(codec, 8, 8, draw(rows, 8, 0, 0, nulls), nulls);
          assertReadsNumbers(codec, 8, 1, new ArrayList<>(Collections.nCopies(rows, number(-3))), false);
        }
      }
    }
  }

  private void assertReadsNumbers(int codec, int valueBytes, int width, List<byte[]> values, boolean nulls) {
    assertReads(values, Vectors.numbers(codec, Vectors.BASE, valueBytes, width, values));
    if (!nulls) {
      assertReads(values, Vectors.numbers(codec, Vectors.DIFFERENCES, valueBytes, 8, values));
    }
  }

  @Test
  void lists() {
    for (int codec : CODECS) {
      for (int rows : new int[] {1, 10, 500}) {
        for (int width : new int[] {1, 2, 4}) {
          List<List<byte[]>> texts = new ArrayList<>();
          List<List<byte[]>> ports = new ArrayList<>();
          for (int i = 0; i < rows; i++) {
            texts.add(random.nextInt(4) == 0 ? null : strings(random.nextInt(5), 9, true));
            ports.add(draw(random.nextInt(3), 2, 0, 65536, random.nextBoolean()));
          }
          List<byte[]> inner = Vectors.elements(texts);
          assertReadsLists(texts, Vectors.list(codec, width, texts, Vectors.dictionary(Codec.NONE, 1, inner)));
          assertReadsLists(texts, Vectors.list(codec, width, texts, Vectors.plain(Codec.NONE, inner)));
          byte[] numbers = Vectors.numbers(Codec.NONE, Vectors.BASE, 2, 2, Vectors.elements(ports));
          assertReadsLists(ports, Vectors.list(codec, width, ports, numbers));
        }
      }
    }
  }

  /** Where an answer outgrows its buffer, in whichever part of a vector, nothing is lost. */
  @Test
  void manyVectorsInOneAnswer() {
    for (int filler = 1; filler < 24; filler++) {
      VectorWriter growing = new VectorWriter();
      growing.put(0, new byte[(1 << 16) - 2 * filler]);
      List<byte[]> values = strings(6, 4, true);
      values.set(0, text("a"));
      List<byte[]> stored = List.of(Vectors.dictionary(0, 1, values), Vectors.plain(0, values));
      byte[] before = growing.toByteArray();
      for (byte[] one : stored) {
        growing.put(1, vector.wrap(one), new int[] {0, 1, 5}, 3);
      }
      byte[] answer = growing.toByteArray();
      assertArrayEquals(before, Arrays.copyOf(answer, before.length));
      int at = before.length;
      for (int i = 0; i < stored.size(); i++) {
        int from = at + 6;
        at = from + BigEndian.getInt(answer, at + 2);
        List<byte[]> read = Vectors.values(new Vector("grown").wrap(Arrays.copyOfRange(answer, from, at)));
        assertEquals(Vectors.show(pick(values, new int[] {0, 1, 5})), Vectors.show(read));
      }
      assertEquals(answer.length, at);
    }
  }

  @Test
  void emptyListsAndVectors() {
    List<List<byte[]>> empty = Arrays.asList(List.of(), null, List.of());
    assertReadsLists(empty, Vectors.list(Codec.NONE, 1, empty, Vectors.plain(Codec.NONE, List.of())));
    assertReads(List.of(), Vectors.numbers(Codec.ZSTD, Vectors.DIFFERENCES, 8, 1, List.of()));
    assertReads(List.of(), Vectors.dictionary(Codec.LZ4, 1, List.of()));
    List<byte[]> nulls = Arrays.asList(null, null);
    assertReads(nulls, Vectors.dictionary(Codec.NONE, 1, nulls));
    assertReads(nulls, Vectors.numbers(Codec.NONE, Vectors.BASE, 1, 1, nulls));
  }

  private List<byte[]> samples() {
    List<byte[]> values = Arrays.asList(text("b"), text("a"), null, text("b"), text("x".repeat(70)));
    List<byte[]> numbers = List.of(number(5), number(-5), number(6), number(7));
    List<List<byte[]>> lists = Arrays.asList(values, null, List.of(), numbers);
    List<byte[]> out = new ArrayList<>();
    for (int codec : CODECS) {
      out.add(Vectors.dictionary(codec, 1, values));
      out.add(Vectors.plain(codec, values));
      out.add(Vectors.numbers(codec, Vectors.BASE, 8, 2, numbers));
      out.add(Vectors.numbers(codec, Vectors.DIFFERENCES, 8, 1, numbers));
      out.add(Vectors.list(codec, 1, lists, Vectors.plain(Codec.NONE, Vectors.elements(lists))));
    }
    for (boolean symbols : new boolean[] {false, true}) {
      out.add(PackedVectors.dictionary(symbols, 0, values));
      out.add(PackedVectors.plain(symbols, 1, values));
      out.add(PackedVectors.list(0, lists, PackedVectors.plain(symbols, 0, Vectors.elements(lists))));
    }
    out.add(PackedVectors.numbers(8, 0, numbers));
    out.add(PackedVectors.differences(8, 0, numbers));
    return out;
  }

  @Test
  void aChangedByteOrACutIsRefused() {
    for (byte[] sample : samples()) {
      vector.wrap(sample).check();
      for (int at = 0; at < sample.length; at++) {
        for (int change : new int[] {1, 0x80, 0xFF}) {
          byte[] damaged = sample.clone();
          damaged[at] ^= (byte) change;
          assertThrows(IllegalStateException.class, () -> vector.wrap(damaged).check());
        }
        byte[] cut = Arrays.copyOf(sample, at);
        assertThrows(IllegalStateException.class, () -> vector.wrap(cut).check());
      }
      byte[] longer = Arrays.copyOf(sample, sample.length + 1);
      assertThrows(IllegalStateException.class, () -> vector.wrap(longer).check());
    }
  }

  /** With a right checksum a wrong byte may make another vector, but never an error of another kind. */
  @Test
  void aWrongByteWithARightChecksumIsAVectorOrRefused() {
    for (byte[] sample : samples()) {
      for (int at = 0; at < sample.length; at++) {
        for (int change : new int[] {1, 2, 0x40, 0x80, 0xFF}) {
          byte[] wrong = sample.clone();
          wrong[at] ^= (byte) change;
          Vectors.seal(wrong);
          try {
            vector.wrap(wrong).check();
          } catch (IllegalStateException e) {
            assertTrue(e.getMessage().startsWith("vector of "), e.getMessage());
          }
          assertSomeRowsMakeAVectorOrAreRefused(wrong);
        }
      }
    }
  }

  private void assertSomeRowsMakeAVectorOrAreRefused(byte[] wrong) {
    Vector subset;
    try {
      int rows = vector.wrap(wrong).rows();
      subset = subset(vector, IntStream.range(0, rows).filter(i -> random.nextInt(3) == 0).toArray());
    } catch (IllegalStateException e) {
      assertTrue(e.getMessage().startsWith("vector of "), e.getMessage());
      return;
    }
    if (subset != null) {
      subset.check();
    }
  }

  /** Few rows cost few: what is wrong with a row is found by who asks for it, or for one behind it. */
  @Test
  void rowsThatAreNotAskedForAreNotLookedAt() {
    List<byte[]> texts = strings(40, 3, false);
    texts.set(39, text("\u007f"));
    byte[] codes = Vectors.dictionary(Codec.NONE, 1, texts);
    assertOnlyTheLastIsRefused("a code is greater", codes, codes.length - 1);
    assertOnlyTheLastIsRefused("ends behind the payload", Vectors.plain(Codec.NONE, texts), payload(texts) + 159);
    List<byte[]> some = new ArrayList<>(texts);
    some.set(1, null);
    assertOnlyTheLastIsRefused("null has a length", Vectors.plain(Codec.NONE, some), payload(texts) + 4);
    byte[] numbers = Vectors.numbers(Codec.NONE, Vectors.BASE, 1, 2, draw(40, 1, 0, 256, false));
    assertOnlyTheLastIsRefused("does not fit 1 bytes", numbers, numbers.length - 1);
  }

  /** Where the payload of a vector of short values begins: behind the header and two of them. */
  private static int payload(List<byte[]> values) {
    List<byte[]> sorted = new ArrayList<>(values);
    sorted.sort(Arrays::compareUnsigned);
    return VectorHeader.SIZE + sorted.get(0).length + sorted.get(sorted.size() - 1).length;
  }

  private void assertOnlyTheLastIsRefused(String why, byte[] stored, int at) {
    byte[] wrong = stored.clone();
    wrong[at] = 0x7E;
    Vectors.seal(wrong);
    List<byte[]> values = Vectors.values(vector.wrap(stored));
    Vector subset = subset(vector.wrap(wrong), new int[] {0, 2});
    assertEquals(Vectors.show(pick(values, new int[] {0, 2})), Vectors.show(Vectors.values(subset)));
    String message =
        assertThrows(IllegalStateException.class, () -> subset(vector.wrap(wrong), new int[] {0, 39})).getMessage();
    assertTrue(message.contains(why), message);
    assertThrows(IllegalStateException.class, () -> vector.wrap(wrong).check());
  }

  private void assertRefused(String why, byte[] stored, int at, int value) {
    byte[] wrong = stored.clone();
    wrong[at] = (byte) value;
    Vectors.seal(wrong);
    String message = assertThrows(IllegalStateException.class, () -> vector.wrap(wrong).check()).getMessage();
    assertTrue(message.contains(why), message);
  }

  @Test
  void whatIsWrongIsSaid() {
    byte[] dictionary = Vectors.dictionary(Codec.NONE, 1, strings(4, 3, false));
    byte[] numbers = Vectors.numbers(Codec.NONE, Vectors.BASE, 1, 1, List.of(new byte[] {1}, new byte[] {2}));
    assertRefused("does not begin as one", dictionary, 0, 0);
    assertRefused("version 3", dictionary, 1, 3);
    assertRefused("form 9", dictionary, 2, 9);
    assertRefused("codec 3", dictionary, 3, 3);
    assertRefused("flags", dictionary, 4, 8);
    assertRefused("width 3", dictionary, 6, 3);
    assertRefused("rows", dictionary, 11, 1);
    assertRefused("payload of", dictionary, 15, 0x41);
    assertRefused("a code is greater", dictionary, dictionary.length - 1, 4);
    assertRefused("ends within its bounds", dictionary, 23, 9);
    assertRefused("1, 2 or 8 bytes", numbers, 5, 4);
    assertRefused("transform 2", numbers, 7, 2);
    assertRefused("does not fit 1 bytes", numbers, numbers.length - 1, 255);
    byte[] plain = Vectors.plain(Codec.NONE, Arrays.asList(text("a"), null, text("b")));
    assertRefused("null has a length, in row 2", plain, VectorHeader.SIZE + 2, 1);
    assertRefused("longer than what is left", plain, VectorHeader.SIZE + 2 + 1, 3);
    assertRefused("1 bytes too long", plain, VectorHeader.SIZE + 2 + 1 + 2 * Integer.BYTES, 0);
    List<List<byte[]>> lists = Arrays.asList(List.of(text("a")), null, List.of(text("b")));
    byte[] inner = Vectors.plain(Codec.NONE, Vectors.elements(lists));
    assertRefused("null has a length, in row 2", Vectors.list(Codec.NONE, 1, lists, inner), VectorHeader.SIZE + 2, 1);
    byte[] compressed = Vectors.dictionary(Codec.ZSTD, 1, strings(100, 3, false));
    assertRefused("payload has", compressed, 12, compressed[12] + 1);
    String message = assertThrows(IllegalStateException.class, () -> vector.wrap(u16(0))).getMessage();
    assertTrue(message.contains("fewer than a header"), message);
  }

  @Test
  void boundsDecideWithoutReadingValues() {
    List<byte[]> values = List.of(text("bb"), text("d".repeat(70)), text("c"));
    ValueBounds bounds = vector.wrap(Vectors.plain(Codec.ZSTD, values)).bounds();
    assertEquals(Verdict.NONE, new Condition.Equal(text("b")).within(bounds));
    assertEquals(Verdict.SOME, new Condition.Equal(text("bb")).within(bounds));
    assertEquals(Verdict.SOME, new Condition.Equal(text("d".repeat(99))).within(bounds));
    assertEquals(Verdict.NONE, new Condition.Equal(text("e")).within(bounds));
    assertEquals(Verdict.NONE, new Condition.Interval(null, true, text("bb"), false).within(bounds));
    assertEquals(Verdict.ALL, new Condition.Interval(text("bb"), true, text("dx"), false).within(bounds));
    assertEquals(Verdict.SOME, new Condition.Interval(text("bb"), false, text("dx"), false).within(bounds));
    assertEquals(Verdict.SOME, new Condition.Interval(text("bb"), true, text("d".repeat(64)), true).within(bounds));
    assertEquals(Verdict.NONE, new Condition.Member(new byte[][] {text("a"), text("f")}).within(bounds));
    assertEquals(Verdict.SOME, new Condition.Member(new byte[][] {text("a"), text("c")}).within(bounds));
    ValueBounds one = vector.wrap(Vectors.plain(Codec.NONE, List.of(text("x"), text("x")))).bounds();
    assertEquals(Verdict.ALL, new Condition.Equal(text("x")).within(one));
    assertEquals(Verdict.ALL, new Condition.Member(new byte[][] {text("a"), text("x")}).within(one));
  }

  /** Intervals over numbers are those over their bytes, whatever length the interval's ends have. */
  @Test
  void intervalsOfNumbers() {
    List<byte[]> ends = new ArrayList<>(Arrays.asList(null, new byte[0]));
    for (int a : new int[] {0, 1, 127, 255}) {
      ends.add(new byte[] {(byte) a});
      for (int b : new int[] {0, 7, 255}) {
        ends.add(new byte[] {(byte) a, (byte) b});
        ends.add(new byte[] {(byte) a, (byte) b, 0});
      }
    }
    for (byte[] low : ends) {
      for (byte[] high : ends) {
        for (int brackets = 0; brackets < 4; brackets++) {
          Condition.Interval interval = new Condition.Interval(low, (brackets & 1) != 0, high, (brackets & 2) != 0);
          long[] numbers = interval.numbers(2);
          for (int value : new int[] {0, 1, 7, 255, 256, 257, 263, 264, 511, 0x7F00, 0x7F07, 0xFF00, 0xFF07, 0xFFFF}) {
            boolean within = numbers != null && value >= numbers[0] && value <= numbers[1];
            assertEquals(interval.test(u16(value), 0, 2), within);
          }
        }
      }
    }
  }
}

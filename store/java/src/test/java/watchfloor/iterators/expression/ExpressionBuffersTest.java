package watchfloor.iterators.expression;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotSame;
import static org.junit.jupiter.api.Assertions.assertSame;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

/** A filter of many conditions on computed values needs the memory of a few: a tablet server has one heap for all. */
class ExpressionBuffersTest {
  private static final int ROWS = 1000;
  private static final FieldValues TEXTS =
      new FieldValues() {
        @Override
        public void read(FieldValue field, int[] rows, int count, Column into) {
          into.begin(count);
          for (int i = 0; i < count; i++) {
            byte[] text = ("value " + rows[i]).getBytes(StandardCharsets.UTF_8);
            into.copy(i, text, 0, text.length);
            into.valid[i] = true;
          }
        }

        @Override
        public void readLengths(int slot, int[] rows, int count, LengthSink into) {
          throw new UnsupportedOperationException();
        }
      };

  @Test
  void equalExpressionsAreOne() {
    ExpressionReader reader = reader();
    Expression length = reader.read(lengthAnd(1), 0);
    assertSame(length, reader.read(lengthAnd(1), 0));
    assertNotSame(length, reader.read(lengthAnd(2), 0));
  }

  @Test
  void fewExpressionsKeepTheirBuffersAndManyDoNot() throws IOException {
    for (int count : new int[] {3, 4000}) {
      ExpressionReader reader = reader();
      Expression[] lengths = IntStream.range(0, count).mapToObj(i -> reader.read(lengthAnd(i), 0)).toArray(Expression[]::new);
      for (int turn = 0; turn < 2; turn++) {
        for (int i = 0; i < count; i++) {
          int[] rows = IntStream.range(0, ROWS).toArray();
          // "value 7" has 7 bytes, "value 42" has 8: of the ordered numbers those below the sum are the shorter texts.
          long most = (8L + i) ^ Long.MIN_VALUE;
          ValueTest test = new ValueTest(lengths[i], below(most), reader::hasMany);
          assertEquals(100, test.select(TEXTS, rows, ROWS));
          assertEquals(count < 10 ? ROWS : 0, lengths[i].out.valid.length);
        }
      }
    }
  }

  @Test
  void comparisonsOfAnExpressionWithItselfHold() throws IOException {
    ExpressionReader reader = reader();
    Expression one = reader.read(lengthAnd(5), 0);
    int[] rows = IntStream.range(0, ROWS).toArray();
    Comparison same = new Comparison(one, Comparison.Operator.EQUAL, reader.read(lengthAnd(5), 0), () -> true);
    assertEquals(ROWS, same.select(TEXTS, rows, ROWS));
    assertEquals(0, one.out.valid.length);
  }

  private static ExpressionReader reader() {
    return new ExpressionReader(in -> new ExpressionReader.FieldPart(in.get(), false), 10);
  }

  /** Returns the program of {@code length(field) + number}. */
  private static ByteBuffer lengthAnd(long number) {
    ByteBuffer out = ByteBuffer.allocate(14);
    out.put((byte) 0x06).put((byte) 0x0A).put((byte) 0x01).put((byte) 0).put((byte) 0);
    out.put((byte) 0x02).putLong(number);
    return out.flip();
  }

  private static ValueTest.Test below(long most) {
    return new ValueTest.Test() {
      @Override
      public boolean test(byte[] bytes, int from, int to) {
        return false;
      }

      @Override
      public boolean test(long number) {
        return Long.compareUnsigned(number, most) <= 0;
      }
    };
  }
}

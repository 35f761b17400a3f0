package watchfloor.iterators.expression;

import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.nio.BufferUnderflowException;
import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.HashMap;
import java.util.Map;
import java.util.function.Function;
import java.util.zip.InflaterInputStream;
import watchfloor.iterators.expression.text.Entropy;
import watchfloor.iterators.expression.text.LowerCase;
import watchfloor.iterators.expression.text.RegisteredDomains;

/** Reads expressions from a filter's program, and the tables that their functions need. */
public final class ExpressionReader {
  /** A field: the number by which the layout knows it, and whether it is a list. */
  public record FieldPart(int slot, boolean isList) {}

  private static final int FIELD = 0x01;
  private static final int INT = 0x02;
  private static final int FLOAT = 0x03;
  private static final int TO_FLOAT = 0x04;
  private static final int NEGATIVE = 0x05;
  /** The code of the first operator; the others follow in their order. */
  private static final int OPERATOR = 0x06;
  private static final int LENGTH = 0x0A;
  private static final int ELEMENTS = 0x0B;
  private static final int LOWER = 0x0C;
  private static final int HOUR = 0x0D;
  private static final int WEEKDAY = 0x0E;
  private static final int ENTROPY = 0x0F;
  private static final int REGISTERED_DOMAIN = 0x10;

  private static final int LOWER_CASE = 1;
  private static final int SUFFIXES = 2;
  /** The greatest number of bytes of a table. */
  private static final int MOST = 1 << 24;
  /** The number of expressions that may keep their buffers, each as large as a column of a block. */
  private static final int MOST_KEPT = 64;

  /** The tables that were read last: programs of one client have the same. */
  private static volatile Tables last = new Tables(new byte[0], null, null);

  private record Tables(byte[] bytes, LowerCase lowerCase, RegisteredDomains domains) {}

  private final Function<ByteBuffer, FieldPart> fields;
  private final int maxDepth;
  private Tables tables = new Tables(new byte[0], null, null);
  /** The expressions by their bytes: equal ones are one, with one set of buffers. */
  private final Map<ByteBuffer, Expression> known = new HashMap<>();

  /**
   * Makes a reader.
   *
   * @param fields reads a field
   * @param maxDepth the greatest depth of nesting
   */
  public ExpressionReader(Function<ByteBuffer, FieldPart> fields, int maxDepth) {
    this.fields = fields;
    this.maxDepth = maxDepth;
  }

  /** Reads the tables that the expressions after them need. */
  public void readTables(ByteBuffer in) {
    ByteBuffer whole = in.duplicate();
    int count = in.get();
    byte[] lower = null;
    byte[] suffixes = null;
    for (int i = 0; i < count; i++) {
      int kind = in.get();
      int length = in.getInt();
      if (length < 0 || length > in.remaining() || (kind != LOWER_CASE && kind != SUFFIXES)) {
        throw new IllegalArgumentException("filter program: a damaged table at byte " + in.position());
      }
      byte[] table = new byte[length];
      in.get(table);
      lower = kind == LOWER_CASE ? table : lower;
      suffixes = kind == SUFFIXES ? table : suffixes;
    }
    byte[] bytes = new byte[in.position() - whole.position()];
    whole.get(bytes);
    Tables known = last;
    if (!Arrays.equals(known.bytes, bytes)) {
      LowerCase lowerCase = lower == null ? null : new LowerCase(inflate(lower));
      RegisteredDomains domains =
          suffixes == null || lowerCase == null ? null : new RegisteredDomains(inflate(suffixes), lowerCase);
      known = new Tables(bytes, lowerCase, domains);
      last = known;
    }
    tables = known;
  }

  private static byte[] inflate(byte[] table) {
    try (InflaterInputStream in = new InflaterInputStream(new ByteArrayInputStream(table))) {
      return in.readNBytes(MOST);
    } catch (IOException e) {
      throw new IllegalArgumentException("filter program: a table that cannot be read: " + e.getMessage(), e);
    }
  }

  /**
   * Reads an expression.
   *
   * @throws IllegalArgumentException if the bytes are none
   * @throws BufferUnderflowException if they end early
   */
  public Expression read(ByteBuffer in, int depth) {
    if (depth > maxDepth) {
      throw new IllegalArgumentException("filter program: nested deeper than " + maxDepth);
    }
    int from = in.position();
    Expression expression = readNew(in, depth);
    Expression first = known.putIfAbsent(in.duplicate().position(from).limit(in.position()), expression);
    return first == null ? expression : first;
  }

  /** Returns whether there are so many expressions that each must give its buffers up after use. */
  public boolean hasMany() {
    return known.size() > MOST_KEPT;
  }

  private Expression readNew(ByteBuffer in, int depth) {
    int code = in.get();
    switch (code) {
      case FIELD:
        return readField(in);
      case INT:
        return new Constant(in.getLong());
      case FLOAT:
        return new Constant(in.getDouble());
      case ELEMENTS:
        return new ElementCount(fields.apply(in).slot);
      case OPERATOR:
      case OPERATOR + 1:
      case OPERATOR + 2:
      case OPERATOR + 3:
        return readArithmetic(Arithmetic.Operator.values()[code - OPERATOR], in, depth);
      default:
        return readMapping(code, read(in, depth + 1));
    }
  }

  private Expression readField(ByteBuffer in) {
    int stored = in.get();
    if (stored < 0 || stored >= Column.Stored.values().length) {
      throw new IllegalArgumentException("filter program: unknown form " + stored + " of a field");
    }
    FieldPart field = fields.apply(in);
    return new FieldValue(field.slot, field.isList, Column.Stored.values()[stored]);
  }

  private Expression readArithmetic(Arithmetic.Operator operator, ByteBuffer in, int depth) {
    Expression left = read(in, depth + 1);
    Expression right = read(in, depth + 1);
    boolean fits = left.type() == right.type() && left.type() != Column.Type.BYTES;
    if (!fits || (operator == Arithmetic.Operator.DIVIDE && left.type() == Column.Type.LONG)) {
      throw new IllegalArgumentException(
          "filter program: " + operator + " does not fit " + left.type() + " and " + right.type());
    }
    return new Arithmetic(operator, left, right);
  }

  private Expression readMapping(int code, Expression operand) {
    switch (code) {
      case TO_FLOAT:
        return map(operand, Column.Type.LONG, Column.Type.DOUBLE, Functions::toDouble);
      case NEGATIVE:
        return operand.type() == Column.Type.LONG
            ? map(operand, Column.Type.LONG, Column.Type.LONG, Functions::negateLong)
            : map(operand, Column.Type.DOUBLE, Column.Type.DOUBLE, Functions::negateDouble);
      case HOUR:
        return map(operand, Column.Type.LONG, Column.Type.LONG, Functions::hour);
      case WEEKDAY:
        return map(operand, Column.Type.LONG, Column.Type.LONG, Functions::weekday);
      case LENGTH:
        return map(operand, Column.Type.BYTES, Column.Type.LONG, Functions::length);
      case ENTROPY:
        Entropy entropy = new Entropy();
        return map(
            operand,
            Column.Type.BYTES,
            Column.Type.DOUBLE,
            (text, i, out) -> out.doubles[i] = entropy.measure(text.bytes, text.from[i], text.to[i]));
      case LOWER:
        LowerCase lowerCase = require(tables.lowerCase);
        return map(
            operand,
            Column.Type.BYTES,
            Column.Type.BYTES,
            (text, i, out) -> setText(out, i, lowerCase.toLower(text.bytes, text.from[i], text.to[i])));
      case REGISTERED_DOMAIN:
        RegisteredDomains domains = require(tables.domains);
        return map(
            operand,
            Column.Type.BYTES,
            Column.Type.BYTES,
            (text, i, out) -> setText(out, i, domains.find(text.bytes, text.from[i], text.to[i])));
      default:
        throw new IllegalArgumentException("filter program: unknown expression " + code);
    }
  }

  private static void setText(Column out, int position, byte[] text) {
    if (text == null) {
      out.setMissing(position);
    } else {
      out.copy(position, text, 0, text.length);
    }
  }

  private static <T> T require(T table) {
    if (table == null) {
      throw new IllegalArgumentException("filter program: a table is missing that a function needs");
    }
    return table;
  }

  private static Expression map(Expression operand, Column.Type from, Column.Type to, Mapping.Function function) {
    if (operand.type() != from) {
      throw new IllegalArgumentException("filter program: a function of " + from + " has an argument of " + operand.type());
    }
    return new Mapping(operand, to, function);
  }
}

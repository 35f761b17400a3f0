package watchfloor.iterators.filter;

import com.google.re2j.Pattern;
import com.google.re2j.PatternSyntaxException;
import java.nio.BufferUnderflowException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import watchfloor.iterators.expression.Comparison;
import watchfloor.iterators.expression.Expression;
import watchfloor.iterators.expression.ExpressionReader;
import watchfloor.iterators.expression.ValueTest;

/** The byte form of a filter, a preorder walk of its tree. A {@link Builder} turns it into nodes of its own type. */
public final class FilterProgram {
  private static final int AND = 0x01;
  private static final int OR = 0x02;
  private static final int NOT = 0x03;
  private static final int RANGE = 0x10;
  private static final int IN = 0x11;
  private static final int REGEX = 0x12;
  private static final int EXISTS = 0x13;
  private static final int EQ = 0x14;
  private static final int TRUE = 0x15;
  private static final int COMPARE = 0x16;
  private static final int LISTED = 0x17;
  /** Before the root: the tables that functions in expressions need. */
  private static final int TABLES = 0x20;
  /** Before the root, behind tables: the digests of the sets to which conditions refer. */
  private static final int SETS = 0x21;

  /** In the place of a field's kind: the condition is on the expression that follows. */
  private static final int EXPRESSION = 3;

  /**
   * The greatest depth of nesting. A deeper program is refused, so that no filter can exhaust a tablet server's stack.
   */
  private static final int MAX_DEPTH = 500;

  /** The condition that every value satisfies. */
  private static final Condition ANY = new Condition.Interval(null, true, null, true);

  /** The kind of a field: one value, a list, or the event's time, which the row has. */
  public enum Kind {
    SCALAR,
    LIST,
    TIME
  }

  /** Makes nodes of its own type from a filter, children first. */
  public interface Builder<N> {
    /** True if all children are; true without children. */
    N and(List<N> children);

    /** True if any child is; false without children. */
    N or(List<N> children);

    N not(N child);

    /** True if the event has the field. */
    N exists(Kind kind, String field);

    N field(Kind kind, String field, Condition condition);

    /** Returns the number by which expressions read a field. */
    int slot(Kind kind, String field);

    N computed(Computed condition);
  }

  private FilterProgram() {}

  /**
   * Reads a program and returns the builder's node of its root.
   *
   * @throws IllegalArgumentException if the bytes are no program, hold a pattern that is not RE2, or name a set of values
   *     that is not known ({@link ValueSets})
   */
  public static <N> N decode(byte[] program, Builder<N> builder) {
    return decode(program, builder, true);
  }

  private static <N> N decode(byte[] program, Builder<N> builder, boolean needsSets) {
    ByteBuffer in = ByteBuffer.wrap(program);
    try {
      N root = new Reader<>(in, builder, needsSets).root();
      if (in.hasRemaining()) {
        throw new IllegalArgumentException("filter program: " + in.remaining() + " bytes too many");
      }
      return root;
    } catch (BufferUnderflowException e) {
      throw new IllegalArgumentException("filter program: ends early, at byte " + in.position(), e);
    } catch (PatternSyntaxException e) {
      throw new IllegalArgumentException("filter program: not an RE2 pattern: " + e.getMessage(), e);
    }
  }

  /**
   * Throws an {@link IllegalArgumentException} that says why a program cannot be run, unless it can be where its sets of
   * values are known.
   */
  public static void check(byte[] program) {
    decode(program, new Checker(), false);
  }

  /** A builder that makes nothing, as reading a program checks it. */
  private static final class Checker implements Builder<Void> {
    @Override
    public Void and(List<Void> children) {
      return null;
    }

    @Override
    public Void or(List<Void> children) {
      return null;
    }

    @Override
    public Void not(Void child) {
      return null;
    }

    @Override
    public Void exists(Kind kind, String field) {
      return null;
    }

    @Override
    public Void field(Kind kind, String field, Condition condition) {
      return null;
    }

    @Override
    public int slot(Kind kind, String field) {
      return 0;
    }

    @Override
    public Void computed(Computed condition) {
      return null;
    }
  }

  /** Reads one program. */
  private static final class Reader<N> {
    private final ByteBuffer in;
    private final Builder<N> builder;
    private final ExpressionReader expressions;
    /** The patterns by their bytes: one that several fields are tested with is compiled once. */
    private final Map<ByteBuffer, Condition> patterns = new HashMap<>();
    private final boolean needsSets;
    private final List<ValueSet> sets = new ArrayList<>();

    Reader(ByteBuffer in, Builder<N> builder, boolean needsSets) {
      this.in = in;
      this.needsSets = needsSets;
      this.builder = builder;
      expressions = new ExpressionReader(this::part, MAX_DEPTH);
    }

    N root() {
      if (in.hasRemaining() && in.get(0) == TABLES) {
        in.get();
        expressions.readTables(in);
      }
      if (in.hasRemaining() && in.get(in.position()) == SETS) {
        in.get();
        for (int left = in.getShort() & 0xFFFF; left > 0; left--) {
          sets.add(set());
        }
      }
      return node(0);
    }

    private ValueSet set() {
      String digest = HexFormat.of().formatHex(raw(in, ValueSets.DIGEST_BYTES));
      ValueSet set = ValueSets.find(digest);
      if (set == null && needsSets) {
        throw new IllegalArgumentException("filter program: the set of values " + digest + " is not known");
      }
      return set;
    }

    private Condition listed() {
      int number = in.getShort() & 0xFFFF;
      if (number >= sets.size()) {
        throw new IllegalArgumentException("filter program: no set of values " + number);
      }
      return new Condition.Listed(sets.get(number));
    }

    private N node(int depth) {
      if (depth > MAX_DEPTH) {
        throw new IllegalArgumentException("filter program: nested deeper than " + MAX_DEPTH);
      }
      int code = in.get() & 0xFF;
      switch (code) {
        case AND:
          return builder.and(children(depth));
        case OR:
          return builder.or(children(depth));
        case NOT:
          return builder.not(node(depth + 1));
        case TRUE:
          return builder.and(List.of());
        case COMPARE:
          return builder.computed(comparison(depth)::select);
        case RANGE:
        case IN:
        case REGEX:
        case EXISTS:
        case EQ:
        case LISTED:
          return condition(code, depth);
        default:
          throw new IllegalArgumentException(
              "filter program: unknown node " + code + " at byte " + (in.position() - 1));
      }
    }

    private List<N> children(int depth) {
      int count = in.getShort() & 0xFFFF;
      List<N> children = new ArrayList<>();
      for (int i = 0; i < count; i++) {
        children.add(node(depth + 1));
      }
      return children;
    }

    private Comparison comparison(int depth) {
      int operator = in.get();
      if (operator < 0 || operator >= Comparison.Operator.values().length) {
        throw new IllegalArgumentException("filter program: unknown comparison " + operator);
      }
      Expression left = expressions.read(in, depth + 1);
      Expression right = expressions.read(in, depth + 1);
      return new Comparison(left, Comparison.Operator.values()[operator], right, expressions::hasMany);
    }

    /** Reads a condition on a field or on an expression. */
    private N condition(int code, int depth) {
      if (in.hasRemaining() && in.get(in.position()) == EXPRESSION) {
        in.get();
        Expression expression = expressions.read(in, depth + 1);
        Condition condition = code == EXISTS ? ANY : condition(code);
        return builder.computed(new ValueTest(expression, new EncodedTest(condition), expressions::hasMany)::select);
      }
      Kind kind = kind();
      String name = name();
      return code == EXISTS ? builder.exists(kind, name) : builder.field(kind, name, condition(code));
    }

    private ExpressionReader.FieldPart part(ByteBuffer program) {
      Kind kind = kind();
      return new ExpressionReader.FieldPart(builder.slot(kind, name()), kind == Kind.LIST);
    }

    private Kind kind() {
      int kind = in.get() & 0xFF;
      if (kind >= Kind.values().length) {
        throw new IllegalArgumentException("filter program: unknown kind " + kind + " of a field");
      }
      return Kind.values()[kind];
    }

    private String name() {
      return new String(raw(in, in.getShort() & 0xFFFF), StandardCharsets.UTF_8);
    }

    private Condition condition(int code) {
      switch (code) {
        case RANGE:
          return range(in);
        case IN:
          return in(in);
        case REGEX:
          return pattern();
        case LISTED:
          return listed();
        default:
          return new Condition.Equal(bytes(in));
      }
    }

    private Condition pattern() {
      int from = in.position();
      int flags = (in.get() & 1) != 0 ? Pattern.CASE_INSENSITIVE : 0;
      String pattern = new String(bytes(in), StandardCharsets.UTF_8);
      ByteBuffer key = in.duplicate().position(from).limit(in.position());
      return patterns.computeIfAbsent(key, any -> new Condition.Match(Pattern.compile(pattern, flags)));
    }
  }

  private static Condition range(ByteBuffer in) {
    int flags = in.get();
    byte[] low = (flags & 1) != 0 ? bytes(in) : null;
    byte[] high = (flags & 4) != 0 ? bytes(in) : null;
    return new Condition.Interval(low, (flags & 2) != 0, high, (flags & 8) != 0);
  }

  private static Condition in(ByteBuffer in) {
    int count = in.getInt();
    if (count < 0 || count > in.remaining() / Integer.BYTES) {
      throw new BufferUnderflowException();
    }
    byte[][] values = new byte[count][];
    for (int i = 0; i < count; i++) {
      values[i] = bytes(in);
    }
    return new Condition.Member(values);
  }

  private static byte[] bytes(ByteBuffer in) {
    return raw(in, in.getInt());
  }

  private static byte[] raw(ByteBuffer in, int length) {
    if (length < 0 || length > in.remaining()) {
      throw new BufferUnderflowException();
    }
    byte[] bytes = new byte[length];
    in.get(bytes);
    return bytes;
  }
}

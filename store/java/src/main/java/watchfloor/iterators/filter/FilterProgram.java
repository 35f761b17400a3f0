package watchfloor.iterators.filter;

import com.google.re2j.Pattern;
import com.google.re2j.PatternSyntaxException;
import java.nio.BufferUnderflowException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;

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

  /**
   * The greatest depth of nesting. A deeper program is refused, so that no filter can exhaust a tablet server's stack.
   */
  private static final int MAX_DEPTH = 500;

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
  }

  private FilterProgram() {}

  /**
   * Reads a program and returns the builder's node of its root.
   *
   * @throws IllegalArgumentException if the bytes are no program, or hold a pattern that is not RE2
   */
  public static <N> N decode(byte[] program, Builder<N> builder) {
    ByteBuffer in = ByteBuffer.wrap(program);
    try {
      N root = node(in, builder, 0);
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

  /** Throws an {@link IllegalArgumentException} that says why a program cannot be run, unless it can be. */
  public static void check(byte[] program) {
    decode(program, new Checker());
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
  }

  private static <N> N node(ByteBuffer in, Builder<N> builder, int depth) {
    if (depth > MAX_DEPTH) {
      throw new IllegalArgumentException("filter program: nested deeper than " + MAX_DEPTH);
    }
    int code = in.get() & 0xFF;
    switch (code) {
      case AND:
        return builder.and(children(in, builder, depth));
      case OR:
        return builder.or(children(in, builder, depth));
      case NOT:
        return builder.not(node(in, builder, depth + 1));
      case TRUE:
        return builder.and(List.of());
      case RANGE:
      case IN:
      case REGEX:
      case EXISTS:
      case EQ:
        return field(code, in, builder);
      default:
        throw new IllegalArgumentException("filter program: unknown node " + code + " at byte " + (in.position() - 1));
    }
  }

  private static <N> List<N> children(ByteBuffer in, Builder<N> builder, int depth) {
    int count = in.getShort() & 0xFFFF;
    List<N> children = new ArrayList<>();
    for (int i = 0; i < count; i++) {
      children.add(node(in, builder, depth + 1));
    }
    return children;
  }

  private static <N> N field(int code, ByteBuffer in, Builder<N> builder) {
    int kind = in.get() & 0xFF;
    String name = new String(raw(in, in.getShort() & 0xFFFF), StandardCharsets.UTF_8);
    if (kind >= Kind.values().length) {
      throw new IllegalArgumentException("filter program: unknown kind " + kind + " of field " + name);
    }
    Kind known = Kind.values()[kind];
    return code == EXISTS ? builder.exists(known, name) : builder.field(known, name, condition(code, in));
  }

  private static Condition condition(int code, ByteBuffer in) {
    switch (code) {
      case RANGE:
        return range(in);
      case IN:
        return in(in);
      case REGEX:
        return regex(in);
      default:
        return new Condition.Equal(bytes(in));
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

  private static Condition regex(ByteBuffer in) {
    int flags = (in.get() & 1) != 0 ? Pattern.CASE_INSENSITIVE : 0;
    return new Condition.Match(Pattern.compile(new String(bytes(in), StandardCharsets.UTF_8), flags));
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

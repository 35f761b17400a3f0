package watchfloor.iterators;

import com.google.re2j.Pattern;
import com.google.re2j.PatternSyntaxException;
import java.nio.BufferUnderflowException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;

/**
 * A filter over one event, decoded from its byte form and evaluated on encoded values, which sort as what they stand
 * for: equality and order are comparisons of bytes and no value is ever decoded.
 *
 * <p>A field that the event lacks satisfies no condition. A list field satisfies a condition when any of its elements
 * that is not null does.
 */
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

  private static final int SCALAR = 0;
  private static final int LIST = 1;
  private static final int TIME = 2;

  private static final int NULL_ELEMENT = -1;
  /** Nesting beyond this is refused, so that no filter can exhaust a tablet server's stack. */
  private static final int MAX_DEPTH = 500;

  private final Node root;

  private FilterProgram(Node root) {
    this.root = root;
  }

  /** The program that every event satisfies. */
  public static FilterProgram all() {
    return new FilterProgram(cells -> true);
  }

  /**
   * Reads a program and names in {@code cells} the slots that it needs.
   *
   * @throws IllegalArgumentException if the bytes are no program, or hold a pattern that is not RE2
   */
  static FilterProgram decode(byte[] program, EventCells cells) {
    ByteBuffer in = ByteBuffer.wrap(program);
    try {
      Node root = node(in, cells, 0);
      if (in.hasRemaining()) {
        throw new IllegalArgumentException("filter program: " + in.remaining() + " bytes too many");
      }
      return new FilterProgram(root);
    } catch (BufferUnderflowException e) {
      throw new IllegalArgumentException("filter program: ends early, at byte " + in.position(), e);
    } catch (PatternSyntaxException e) {
      throw new IllegalArgumentException("filter program: not an RE2 pattern: " + e.getMessage(), e);
    }
  }

  /** Whether a program can be run; throws {@link IllegalArgumentException} that says why not. */
  public static void check(byte[] program) {
    decode(program, new EventCells());
  }

  boolean matches(EventCells cells) {
    return root.test(cells);
  }

  private interface Node {
    boolean test(EventCells cells);
  }

  /** A condition on the bytes of one value. */
  private interface Condition {
    boolean test(byte[] bytes, int from, int to);
  }

  private static Node node(ByteBuffer in, EventCells cells, int depth) {
    if (depth > MAX_DEPTH) {
      throw new IllegalArgumentException("filter program: nested deeper than " + MAX_DEPTH);
    }
    int code = in.get() & 0xFF;
    switch (code) {
      case AND:
        return all(children(in, cells, depth));
      case OR:
        return any(children(in, cells, depth));
      case NOT:
        Node child = node(in, cells, depth + 1);
        return event -> !child.test(event);
      case TRUE:
        return event -> true;
      case RANGE:
      case IN:
      case REGEX:
      case EXISTS:
      case EQ:
        return fieldNode(code, in, cells);
      default:
        throw new IllegalArgumentException("filter program: unknown node " + code + " at byte " + (in.position() - 1));
    }
  }

  private static Node[] children(ByteBuffer in, EventCells cells, int depth) {
    Node[] children = new Node[in.getShort() & 0xFFFF];
    for (int i = 0; i < children.length; i++) {
      children[i] = node(in, cells, depth + 1);
    }
    return children;
  }

  private static Node all(Node[] children) {
    return event -> {
      for (Node child : children) {
        if (!child.test(event)) {
          return false;
        }
      }
      return true;
    };
  }

  private static Node any(Node[] children) {
    return event -> {
      for (Node child : children) {
        if (child.test(event)) {
          return true;
        }
      }
      return false;
    };
  }

  private static Node fieldNode(int code, ByteBuffer in, EventCells cells) {
    int kind = in.get() & 0xFF;
    String name = new String(raw(in, in.getShort() & 0xFFFF), StandardCharsets.UTF_8);
    if (kind != SCALAR && kind != LIST && kind != TIME) {
      throw new IllegalArgumentException("filter program: unknown kind " + kind + " of field " + name);
    }
    int slot = kind == TIME ? cells.timeSlot() : cells.slot(name);
    if (code == EXISTS) {
      return event -> event.length(slot) >= 0;
    }
    Condition condition = condition(code, in);
    return kind == LIST ? onList(slot, condition) : onScalar(slot, condition);
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
        byte[] wanted = bytes(in);
        return (bytes, from, to) -> Arrays.equals(bytes, from, to, wanted, 0, wanted.length);
    }
  }

  private static Node onScalar(int slot, Condition condition) {
    return event -> {
      int length = event.length(slot);
      int offset = event.offset(slot);
      return length >= 0 && condition.test(event.bytes(), offset, offset + length);
    };
  }

  private static Node onList(int slot, Condition condition) {
    return event -> {
      byte[] bytes = event.bytes();
      int at = event.offset(slot);
      int end = at + event.length(slot);
      while (end - at >= Integer.BYTES) {
        int length = Bytes.getInt(bytes, at);
        at += Integer.BYTES;
        if (length == NULL_ELEMENT) {
          continue;
        }
        if (length < 0 || length > end - at) {
          throw new IllegalStateException("a list's element is longer than its cell");
        }
        if (condition.test(bytes, at, at + length)) {
          return true;
        }
        at += length;
      }
      return false;
    };
  }

  private static Condition range(ByteBuffer in) {
    int flags = in.get();
    byte[] low = (flags & 1) != 0 ? bytes(in) : null;
    byte[] high = (flags & 4) != 0 ? bytes(in) : null;
    // An order of 0 is within an inclusive bound, so what is asked of the order is one comparison each.
    int lowest = (flags & 2) != 0 ? 0 : 1;
    int highest = (flags & 8) != 0 ? 0 : -1;
    return (bytes, from, to) ->
        (low == null || Integer.signum(Arrays.compareUnsigned(bytes, from, to, low, 0, low.length)) >= lowest)
            && (high == null
                || Integer.signum(Arrays.compareUnsigned(bytes, from, to, high, 0, high.length)) <= highest);
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
    Arrays.sort(values, Arrays::compareUnsigned);
    return (bytes, from, to) -> {
      int low = 0;
      int high = values.length - 1;
      while (low <= high) {
        int middle = (low + high) >>> 1;
        byte[] value = values[middle];
        int order = Arrays.compareUnsigned(bytes, from, to, value, 0, value.length);
        if (order == 0) {
          return true;
        }
        if (order < 0) {
          high = middle - 1;
        } else {
          low = middle + 1;
        }
      }
      return false;
    };
  }

  private static Condition regex(ByteBuffer in) {
    int flags = (in.get() & 1) != 0 ? Pattern.CASE_INSENSITIVE : 0;
    Pattern pattern = Pattern.compile(new String(bytes(in), StandardCharsets.UTF_8), flags);
    return (bytes, from, to) -> pattern.matcher(Arrays.copyOfRange(bytes, from, to)).find();
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

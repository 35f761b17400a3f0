package watchfloor.cell;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.List;
import watchfloor.iterators.BigEndian;
import watchfloor.iterators.expression.FieldValues;
import watchfloor.iterators.filter.Computed;
import watchfloor.iterators.filter.Condition;
import watchfloor.iterators.filter.FilterProgram;

/** A filter that is evaluated on the encoded values of one event's cells. No value is decoded. */
final class EventFilter {
  static final int NULL_ELEMENT = -1;

  private final Node root;

  private EventFilter(Node root) {
    this.root = root;
  }

  /** Returns the filter that every event satisfies. */
  static EventFilter all() {
    return new EventFilter(cells -> true);
  }

  /**
   * Reads a {@link FilterProgram} and allocates the slots that it needs in {@code cells}.
   *
   * @throws IllegalArgumentException if the bytes are no program
   */
  static EventFilter decode(byte[] program, EventCells cells) {
    return new EventFilter(FilterProgram.decode(program, new Nodes(cells)));
  }

  boolean matches(EventCells cells) {
    return root.test(cells);
  }

  private interface Node {
    boolean test(EventCells cells);
  }

  private static final class Nodes implements FilterProgram.Builder<Node> {
    private final EventCells cells;
    private final CellValues values;

    Nodes(EventCells cells) {
      this.cells = cells;
      values = new CellValues(cells);
    }

    @Override
    public Node and(List<Node> nodes) {
      Node[] children = nodes.toArray(new Node[0]);
      return event -> {
        for (Node child : children) {
          if (!child.test(event)) {
            return false;
          }
        }
        return true;
      };
    }

    @Override
    public Node or(List<Node> nodes) {
      Node[] children = nodes.toArray(new Node[0]);
      return event -> {
        for (Node child : children) {
          if (child.test(event)) {
            return true;
          }
        }
        return false;
      };
    }

    @Override
    public Node not(Node child) {
      return event -> !child.test(event);
    }

    @Override
    public Node exists(FilterProgram.Kind kind, String field) {
      int slot = slot(kind, field);
      return event -> event.length(slot) >= 0;
    }

    @Override
    public Node field(FilterProgram.Kind kind, String field, Condition condition) {
      int slot = slot(kind, field);
      return kind == FilterProgram.Kind.LIST ? onList(slot, condition) : onScalar(slot, condition);
    }

    @Override
    public int slot(FilterProgram.Kind kind, String field) {
      return kind == FilterProgram.Kind.TIME ? cells.timeSlot() : cells.slot(field);
    }

    @Override
    public Node computed(Computed condition) {
      return onEvent(condition, values);
    }
  }

  /** Returns the node of a condition on expressions; an event is the only row of its values. */
  private static Node onEvent(Computed condition, FieldValues values) {
    int[] rows = {0};
    return event -> {
      try {
        return condition.select(values, rows, 1) == 1;
      } catch (IOException e) {
        throw new UncheckedIOException(e);
      }
    };
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
        int length = BigEndian.getInt(bytes, at);
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
}

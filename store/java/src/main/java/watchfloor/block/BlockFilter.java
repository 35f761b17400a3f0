package watchfloor.block;

import java.io.IOException;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import watchfloor.block.filter.VectorFilter;
import watchfloor.block.vector.Vector;
import watchfloor.block.zone.Zone;
import watchfloor.block.zone.Zones;
import watchfloor.iterators.filter.ValueBounds;
import watchfloor.iterators.filter.Computed;
import watchfloor.iterators.filter.Condition;
import watchfloor.iterators.filter.FilterProgram;
import watchfloor.iterators.filter.Verdict;

/**
 * A filter that is evaluated on all events of a block at once, one field after the other. A selection is an array of
 * ascending rows and the number of them that count. Each part of the filter narrows the selection in place.
 */
final class BlockFilter {
  private final Node root;

  private BlockFilter(Node root) {
    this.root = root;
  }

  /**
   * Reads a {@link FilterProgram} and allocates the slots that it needs in {@code block}.
   *
   * @throws IllegalArgumentException if the bytes are no program
   */
  static BlockFilter decode(byte[] program, Block block) {
    return new BlockFilter(FilterProgram.decode(program, new Nodes(block)));
  }

  /**
   * Returns whether all, some or none of a block's events satisfy the filter, as far as the block's row tells.
   *
   * @param zoned whether the zones tell too, which were read
   */
  Verdict within(ValueBounds time, boolean zoned) {
    return root.within(time, zoned);
  }

  /** Adds the zones that {@link #within} asks. Returns whether they can tell that no event of a block satisfies the filter. */
  boolean addZones(Zones zones, Block block) {
    return root.addZones(zones, block);
  }

  /** Keeps those of the first {@code count} rows that satisfy the filter, and returns their number. */
  int select(Block block, int[] rows, int count) throws IOException {
    return root.select(block, rows, count);
  }

  /** Removes the rows of another selection, which is part of this one, and returns the number of rows that are left. */
  private static int remove(int[] rows, int count, int[] taken, int takenCount) {
    if (takenCount == 0) {
      return count;
    }
    int kept = 0;
    int next = 0;
    for (int i = 0; i < count; i++) {
      if (next < takenCount && taken[next] == rows[i]) {
        next++;
      } else {
        rows[kept++] = rows[i];
      }
    }
    return kept;
  }

  private static int[] room(int[] array, int count) {
    return array.length < count ? new int[count] : array;
  }

  /** A node of the filter's tree. */
  private abstract static class Node {
    /** Nodes of lower cost are evaluated first. */
    final int cost;

    Node(int cost) {
      this.cost = cost;
    }

    abstract Verdict within(ValueBounds time, boolean zoned);

    boolean addZones(Zones zones, Block block) {
      return false;
    }

    abstract int select(Block block, int[] rows, int count) throws IOException;
  }

  /** Returns the cost of a node with several children. */
  private static int sum(List<Node> nodes) {
    return Math.min(1 << 20, nodes.stream().mapToInt(node -> node.cost).sum());
  }

  private static final class And extends Node {
    private final Node[] children;

    And(List<Node> nodes) {
      super(sum(nodes));
      children = nodes.stream().sorted(Comparator.comparingInt(node -> node.cost)).toArray(Node[]::new);
    }

    @Override
    Verdict within(ValueBounds time, boolean zoned) {
      Verdict verdict = Verdict.ALL;
      for (Node child : children) {
        Verdict one = child.within(time, zoned);
        verdict = one.compareTo(verdict) < 0 ? one : verdict;
      }
      return verdict;
    }

    @Override
    boolean addZones(Zones zones, Block block) {
      return Arrays.stream(children).filter(child -> child.addZones(zones, block)).count() > 0;
    }

    @Override
    int select(Block block, int[] rows, int count) throws IOException {
      int left = count;
      for (int i = 0; i < children.length && left > 0; i++) {
        left = children[i].select(block, rows, left);
      }
      return left;
    }
  }

  private static final class Or extends Node {
    private final Node[] children;
    private int[] rest = new int[0];
    private int[] found = new int[0];

    Or(List<Node> nodes) {
      super(sum(nodes));
      children = nodes.stream().sorted(Comparator.comparingInt(node -> node.cost)).toArray(Node[]::new);
    }

    @Override
    Verdict within(ValueBounds time, boolean zoned) {
      Verdict verdict = Verdict.NONE;
      for (Node child : children) {
        Verdict one = child.within(time, zoned);
        verdict = one.compareTo(verdict) > 0 ? one : verdict;
      }
      return verdict;
    }

    @Override
    boolean addZones(Zones zones, Block block) {
      return Arrays.stream(children).filter(child -> child.addZones(zones, block)).count() == children.length;
    }

    /** Evaluates each child on the rows that no child before it has selected. */
    @Override
    int select(Block block, int[] rows, int count) throws IOException {
      rest = room(rest, count);
      found = room(found, count);
      System.arraycopy(rows, 0, rest, 0, count);
      int left = count;
      for (int i = 0; i < children.length && left > 0; i++) {
        System.arraycopy(rest, 0, found, 0, left);
        int hits = children[i].select(block, found, left);
        left = remove(rest, left, found, hits);
      }
      return remove(rows, count, rest, left);
    }
  }

  private static final class Not extends Node {
    private final Node child;
    private int[] found = new int[0];

    Not(Node child) {
      super(child.cost);
      this.child = child;
    }

    @Override
    Verdict within(ValueBounds time, boolean zoned) {
      return child.within(time, zoned).not();
    }

    @Override
    boolean addZones(Zones zones, Block block) {
      return child.addZones(zones, block);
    }

    @Override
    int select(Block block, int[] rows, int count) throws IOException {
      found = room(found, count);
      System.arraycopy(rows, 0, found, 0, count);
      return remove(rows, count, found, child.select(block, found, count));
    }
  }

  /** The condition that an event has a time, which all have. */
  private static final class Always extends Node {
    Always() {
      super(0);
    }

    @Override
    Verdict within(ValueBounds time, boolean zoned) {
      return Verdict.ALL;
    }

    @Override
    int select(Block block, int[] rows, int count) {
      return count;
    }
  }

  private static final class Exists extends Node {
    private final int slot;
    private Zone zone;

    Exists(int slot) {
      super(2);
      this.slot = slot;
    }

    @Override
    Verdict within(ValueBounds time, boolean zoned) {
      return zoned ? zone.exists() : Verdict.SOME;
    }

    @Override
    boolean addZones(Zones zones, Block block) {
      zone = block.addZone(zones, slot);
      return true;
    }

    @Override
    int select(Block block, int[] rows, int count) throws IOException {
      Vector vector = block.vector(slot);
      return vector == null ? 0 : VectorFilter.keepValid(vector, rows, count);
    }
  }

  private static final class Field extends Node {
    private final int slot;
    private final Condition condition;
    private final VectorFilter filter;
    private Zone zone;
    /** Those of the values that are looked for; null if they are not few. */
    private long[] hashes;

    Field(int slot, Condition condition) {
      super(costOf(condition));
      this.slot = slot;
      this.condition = condition;
      filter = new VectorFilter(condition);
    }

    private static int costOf(Condition condition) {
      if (condition instanceof Condition.Interval) {
        return condition instanceof Condition.Equal ? 1 : 2;
      }
      return condition instanceof Condition.Member || condition instanceof Condition.Listed ? 3 : 100;
    }

    @Override
    Verdict within(ValueBounds time, boolean zoned) {
      return zoned ? zone.within(condition, hashes) : Verdict.SOME;
    }

    @Override
    boolean addZones(Zones zones, Block block) {
      zone = block.addZone(zones, slot);
      hashes = Zone.hashes(condition);
      return !(condition instanceof Condition.Match);
    }

    @Override
    int select(Block block, int[] rows, int count) throws IOException {
      Vector vector = block.vector(slot);
      return vector == null ? 0 : filter.select(vector, rows, count);
    }
  }

  /** A condition on the time. The block's row tells the bounds of the times. */
  private static final class Time extends Node {
    private final Condition condition;
    private final Field field;

    Time(int slot, Condition condition) {
      super(0);
      this.condition = condition;
      field = new Field(slot, condition);
    }

    @Override
    Verdict within(ValueBounds time, boolean zoned) {
      return condition.within(time);
    }

    @Override
    int select(Block block, int[] rows, int count) throws IOException {
      Verdict verdict = within(block.times().bounds(), false);
      return verdict == Verdict.NONE ? 0 : verdict == Verdict.ALL ? count : field.select(block, rows, count);
    }
  }

  /** A condition on expressions. It takes longer than any other, so others narrow the selection first. */
  private static final class Computation extends Node {
    private final BlockValues values;
    private final Computed condition;

    Computation(BlockValues values, Computed condition) {
      super(200);
      this.values = values;
      this.condition = condition;
    }

    @Override
    Verdict within(ValueBounds time, boolean zoned) {
      return Verdict.SOME;
    }

    @Override
    int select(Block block, int[] rows, int count) throws IOException {
      return condition.select(values, rows, count);
    }
  }

  private static final class Nodes implements FilterProgram.Builder<Node> {
    private final Block block;
    private final BlockValues values;

    Nodes(Block block) {
      this.block = block;
      values = new BlockValues(block);
    }

    @Override
    public Node and(List<Node> children) {
      return new And(children);
    }

    @Override
    public Node or(List<Node> children) {
      return new Or(children);
    }

    @Override
    public Node not(Node child) {
      return new Not(child);
    }

    @Override
    public Node exists(FilterProgram.Kind kind, String field) {
      return kind == FilterProgram.Kind.TIME ? new Always() : new Exists(block.slot(field));
    }

    @Override
    public Node field(FilterProgram.Kind kind, String field, Condition condition) {
      int slot = block.slot(field);
      return kind == FilterProgram.Kind.TIME ? new Time(slot, condition) : new Field(slot, condition);
    }

    @Override
    public int slot(FilterProgram.Kind kind, String field) {
      return block.slot(field);
    }

    @Override
    public Node computed(Computed condition) {
      return new Computation(values, condition);
    }
  }
}

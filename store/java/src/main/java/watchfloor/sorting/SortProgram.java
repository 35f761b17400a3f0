package watchfloor.sorting;

import java.nio.BufferUnderflowException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import watchfloor.iterators.filter.FilterProgram;

/**
 * The byte form of the fields by which events are sorted, big-endian: <pre>
 * u8 fields × { u8 1 if descending, u8 kind, as in {@link FilterProgram.Kind}, u16 length, name }
 * </pre>
 */
public final class SortProgram {
  /** A field by whose values events are sorted. */
  public record Order(FilterProgram.Kind kind, String name, boolean descending) {}

  private SortProgram() {}

  /**
   * Reads a program, which has one order at least.
   *
   * @throws IllegalArgumentException if the bytes are no program
   */
  public static List<Order> decode(byte[] bytes) {
    ByteBuffer in = ByteBuffer.wrap(bytes);
    List<Order> orders = new ArrayList<>();
    try {
      for (int left = in.get(); left > 0; left--) {
        boolean descending = in.get() != 0;
        FilterProgram.Kind kind = FilterProgram.Kind.values()[in.get()];
        byte[] name = new byte[in.getShort() & 0xFFFF];
        in.get(name);
        orders.add(new Order(kind, new String(name, StandardCharsets.UTF_8), descending));
      }
    } catch (BufferUnderflowException | IndexOutOfBoundsException e) {
      throw new IllegalArgumentException("sort program: damaged, at byte " + in.position(), e);
    }
    if (orders.isEmpty() || in.hasRemaining()) {
      throw new IllegalArgumentException("sort program: no field, or bytes behind the last one");
    }
    return orders;
  }
}

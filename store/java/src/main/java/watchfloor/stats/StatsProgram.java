package watchfloor.stats;

import java.nio.BufferUnderflowException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import watchfloor.iterators.filter.FilterProgram;

/**
 * The byte form of what is to be computed of the events that match, big-endian: <pre>
 * u16 fields × { u8 kind, as in {@link FilterProgram.Kind}, u16 length, name }; the time is the last
 * u16 filters × { u32 length, filter program }
 * u8 keys × { u8 kind, u16 field, i64 width, u8 bits, u8 bits of IPv6 }
 * u8 states × { u8 kind, u16 field or filter }
 * </pre>
 */
public final class StatsProgram {
  /** The kinds of keys: a field's value, the start of a time bucket of some width (µs), the network of an address. */
  public enum KeyKind {
    FIELD,
    BUCKET,
    PREFIX
  }

  /** What is kept for each group; the byte in the program is the ordinal. */
  public enum StateKind {
    /** The number of events. */
    EVENTS,
    /** The number of events that have a field. */
    EVENTS_WITH,
    /** The number of events that satisfy a filter. */
    EVENTS_WHERE,
    /** The number of values of a field. */
    VALUES,
    SUM_INT,
    SUM_FLOAT,
    MIN,
    MAX,
    /** The value of the oldest event that has the field. */
    FIRST,
    LAST,
    /** The distinct values. */
    SET,
    /** The distinct values, numbers, with the number of times that each occurs. */
    HISTOGRAM_INT,
    HISTOGRAM_FLOAT
  }

  /** A part of what a group is found by. {@code field} is that of a bucket's times too. */
  public record KeyPart(KeyKind kind, int field, long width, int bits, int bits6) {}

  /** A state and the field or the filter that it is of. */
  public record StatePart(StateKind kind, int of) {}

  /** A field whose values are needed. */
  public record FieldPart(FilterProgram.Kind kind, String name) {}

  public final List<FieldPart> fields = new ArrayList<>();
  public final List<byte[]> filters = new ArrayList<>();
  public final List<KeyPart> keys = new ArrayList<>();
  public final List<StatePart> states = new ArrayList<>();

  private StatsProgram() {}

  /**
   * Reads a program.
   *
   * @throws IllegalArgumentException if the bytes are no program
   */
  public static StatsProgram decode(byte[] bytes) {
    ByteBuffer in = ByteBuffer.wrap(bytes);
    StatsProgram program = new StatsProgram();
    try {
      for (int left = in.getShort(); left > 0; left--) {
        FilterProgram.Kind kind = FilterProgram.Kind.values()[in.get()];
        program.fields.add(new FieldPart(kind, new String(raw(in, in.getShort()), StandardCharsets.UTF_8)));
      }
      for (int left = in.getShort(); left > 0; left--) {
        program.filters.add(raw(in, in.getInt()));
      }
      for (int left = in.get(); left > 0; left--) {
        KeyKind kind = KeyKind.values()[in.get()];
        program.keys.add(new KeyPart(kind, in.getShort(), in.getLong(), in.get() & 0xFF, in.get() & 0xFF));
      }
      for (int left = in.get(); left > 0; left--) {
        program.states.add(new StatePart(StateKind.values()[in.get()], in.getShort()));
      }
      program.check(in.remaining());
      return program;
    } catch (BufferUnderflowException | IndexOutOfBoundsException e) {
      throw new IllegalArgumentException("stats program: damaged, at byte " + in.position(), e);
    }
  }

  private void check(int left) {
    if (left > 0) {
      throw new IllegalArgumentException("stats program: " + left + " bytes too many");
    }
    for (KeyPart key : keys) {
      fields.get(key.field);
      if (key.kind == KeyKind.BUCKET && key.width < 1) {
        throw new IllegalArgumentException("stats program: a bucket of " + key.width + " µs");
      }
    }
    for (StatePart state : states) {
      if (state.kind == StateKind.EVENTS_WHERE) {
        filters.get(state.of);
      } else if (state.kind != StateKind.EVENTS) {
        fields.get(state.of);
      }
    }
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

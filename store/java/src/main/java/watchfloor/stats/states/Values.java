package watchfloor.stats.states;

import watchfloor.stats.StatsWriter;

/** A value for each group. Written as groups × u32 length, -1 for none, and then the bytes of all values. */
final class Values {
  private byte[][] values = new byte[0][];
  private long length;

  void grow(int groups) {
    values = Room.grow(values, groups);
  }

  byte[] get(int group) {
    return values[group];
  }

  void set(int group, byte[] value) {
    length += value.length - (values[group] == null ? 0 : values[group].length);
    values[group] = value;
  }

  long bytes() {
    return values.length * 24L + length;
  }

  void write(StatsWriter out, int groups) {
    for (int i = 0; i < groups; i++) {
      out.putInt(values[i] == null ? -1 : values[i].length);
    }
    for (int i = 0; i < groups; i++) {
      if (values[i] != null) {
        out.put(values[i], 0, values[i].length);
      }
    }
  }

  void clear() {
    values = Room.clear(values);
    length = 0;
  }
}

package watchfloor.json;

import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/**
 * The keys of objects and the fields that they stand for. A field's name has its parts joined by dots. A file may nest
 * objects at all of the dots, at some or at none.
 */
final class FieldNames {
  /** The meaning of a key: a value of a field, a value to skip, or an object with further names. */
  static final class Name {
    /** Null for an object. */
    final ValueReader value;
    /** Null unless it is an object. */
    final Level level;
    /** The line that had this name last. */
    long line = -1;

    private Name(ValueReader value, Level level) {
      this.value = value;
      this.level = level;
    }
  }

  /** A key at one level. */
  static final class Key {
    final Name name;
    private final int length;
    private final TextMatcher quoted;
    /** The key that followed this one last time, as lines of a log are alike. */
    private Key follower;

    private Key(String text, Name name) {
      byte[] bytes = (text + '"').getBytes(StandardCharsets.UTF_8);
      length = bytes.length - 1;
      quoted = new TextMatcher(bytes);
      this.name = name;
    }

    int length() {
      return length;
    }

    /** Returns whether this key and a quotation mark are at a position. */
    private boolean isAt(byte[] data, int at) {
      return quoted.isAt(data, at);
    }
  }

  /** The keys that an object may have. */
  static final class Level {
    private final Map<Integer, List<Key>> byLength = new HashMap<>();
    /** The predecessor of the first key. */
    final Key start = new Key("", null);

    private void add(Key key) {
      byLength.computeIfAbsent(key.length(), length -> new ArrayList<>()).add(key);
      key.follower = key;
      start.follower = key;
    }

    /**
     * Returns the key at a position, which is just after its first quotation mark; null if no key of this level is
     * there.
     *
     * @param last the key that came before, or {@link #start}
     */
    Key find(byte[] data, int at, Key last) {
      if (last.follower.isAt(data, at)) {
        return last.follower;
      }
      for (Key key : byLength.getOrDefault(TextReader.end(data, at) - at, List.of())) {
        if (key.isAt(data, at)) {
          last.follower = key;
          return key;
        }
      }
      return null;
    }
  }

  private final Map<String, Name> names = new TreeMap<>();
  private final Map<String, Level> levels = new HashMap<>();

  private FieldNames() {}

  /**
   * Returns the names at the outermost level.
   *
   * @param values the reader of each name's value; several names may share one
   */
  static Level of(String[] names, ValueReader[] values) {
    FieldNames all = new FieldNames();
    Map<ValueReader, Name> known = new HashMap<>();
    for (int i = 0; i < names.length; i++) {
      all.names.put(names[i], known.computeIfAbsent(values[i], value -> new Name(value, null)));
    }
    return all.level("");
  }

  /** Returns the keys after a prefix, which is empty or ends with a dot. */
  private Level level(String prefix) {
    Level known = levels.get(prefix);
    if (known != null) {
      return known;
    }
    Level level = new Level();
    levels.put(prefix, level);
    Map<String, Name> objects = new TreeMap<>();
    for (Map.Entry<String, Name> entry : names.entrySet()) {
      String name = entry.getKey();
      if (name.startsWith(prefix)) {
        level.add(new Key(name.substring(prefix.length()), entry.getValue()));
        for (int dot = name.indexOf('.', prefix.length()); dot >= 0; dot = name.indexOf('.', dot + 1)) {
          String object = name.substring(0, dot);
          if (!names.containsKey(object) && !objects.containsKey(object)) {
            objects.put(object, new Name(null, level(object + ".")));
          }
        }
      }
    }
    objects.forEach((object, name) -> level.add(new Key(object.substring(prefix.length()), name)));
    return level;
  }
}

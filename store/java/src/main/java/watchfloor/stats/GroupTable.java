package watchfloor.stats;

import java.io.IOException;
import java.util.Arrays;
import java.util.List;

/**
 * Finds the group of each event. Groups have the numbers 0, 1, … in the order in which they come. Without keys there is
 * one group.
 */
final class GroupTable {
  /** Up to this number of combinations of local codes, the group of each combination is looked up only once. */
  private static final int COMBINATIONS = 1 << 18;

  private final GroupKey[] keys;
  /** Numbers of (group by the first i + 1 keys, number of the next key's value). */
  private final LongIntMap[] pairs;
  /** Groups by the first key: of each group the number of its value, and by that number plus one the group plus one. */
  private int[] firstNumbers = new int[0];

  private int[] firstGroups = new int[0];
  private int firstSize;

  // The events at hand. A position is an event, or an event and one of its values if a key's field is a list.
  private int[] rows = new int[0];
  private int[] groups = new int[0];
  private int positions;
  private int[] elements = new int[0];
  private int[] expanded = new int[0];
  private int[] cache = new int[0];

  GroupTable(List<StatsProgram.KeyPart> parts) {
    keys = parts.stream().map(GroupKey::new).toArray(GroupKey[]::new);
    pairs = new LongIntMap[Math.max(0, keys.length - 1)];
    Arrays.setAll(pairs, i -> new LongIntMap());
  }

  /** Returns the number of groups so far. */
  int size() {
    return keys.length == 0 ? 1 : pairs.length == 0 ? firstSize : pairs[pairs.length - 1].size();
  }

  /** Returns the events of the positions; an event comes several times if it is in several groups. */
  int[] rows() {
    return rows;
  }

  /** Returns the groups of the positions. */
  int[] groups() {
    return groups;
  }

  long bytes() {
    long bytes = (long) (firstNumbers.length + firstGroups.length) * Integer.BYTES;
    for (GroupKey key : keys) {
      bytes += key.bytes();
    }
    for (LongIntMap map : pairs) {
      bytes += map.bytes();
    }
    return bytes;
  }

  void clear() {
    firstNumbers = new int[0];
    firstGroups = new int[0];
    firstSize = 0;
    for (GroupKey key : keys) {
      key.clear();
    }
    for (LongIntMap map : pairs) {
      map.clear();
    }
  }

  /** Finds the groups of some events and returns the number of positions. */
  int find(StatsSource source, int[] selected, int count) throws IOException {
    positions = count;
    rows = room(rows, count);
    System.arraycopy(selected, 0, rows, 0, count);
    for (int i = 0; i < keys.length; i++) {
      StatsColumn column = source.column(keys[i].part.field());
      if (column != null && column.isList()) {
        codeList(source, i, column);
      } else {
        keys[i].code(source, column, rows, positions);
      }
    }
    groups = room(groups, positions);
    if (keys.length == 0) {
      Arrays.fill(groups, 0, positions, 0);
    } else {
      combine();
    }
    return positions;
  }

  /**
   * Makes a position for each distinct element of the lists of a key's field, and one for a list without elements. The
   * codes of the keys before it are repeated.
   */
  private void codeList(StatsSource source, int at, StatsColumn lists) {
    StatsColumn members = lists.elements();
    int total = 0;
    for (int i = 0; i < positions; i++) {
      total += Math.max(1, lists.start(rows[i] + 1) - lists.start(rows[i]));
    }
    elements = room(elements, total);
    expanded = room(expanded, total);
    int count = 0;
    for (int i = 0; i < positions; i++) {
      for (int element = lists.start(rows[i]); element < lists.start(rows[i] + 1); element++) {
        elements[count] = element;
        expanded[count++] = i;
      }
    }
    GroupKey key = keys[at];
    key.code(source, members, elements, count);
    // Equal elements of a list count once, and a list without elements is null.
    int[] codes = key.codes;
    int[] codesOut = new int[total];
    int[] from = new int[total];
    int kept = 0;
    int next = 0;
    for (int i = 0; i < positions; i++) {
      int start = kept;
      for (; next < count && expanded[next] == i; next++) {
        boolean seen = codes[next] == key.nullCode;
        for (int j = start; j < kept && !seen; j++) {
          // Different addresses may be of the same network.
          seen = key.number(codesOut[j]) == key.number(codes[next]);
        }
        if (!seen) {
          codesOut[kept] = codes[next];
          from[kept++] = i;
        }
      }
      if (kept == start) {
        codesOut[kept] = key.nullCode;
        from[kept++] = i;
      }
    }
    key.codes = codesOut;
    rows = pick(rows, from, kept);
    for (int i = 0; i < at; i++) {
      keys[i].codes = pick(keys[i].codes, from, kept);
    }
    positions = kept;
  }

  private static int[] pick(int[] values, int[] from, int count) {
    int[] picked = new int[count];
    for (int i = 0; i < count; i++) {
      picked[i] = values[from[i]];
    }
    return picked;
  }

  /** Finds the group of each position by the local codes of all keys. */
  private void combine() {
    long combinations = 1;
    for (GroupKey key : keys) {
      combinations = Math.min(Long.MAX_VALUE >> 33, combinations * (key.nullCode + 1L));
    }
    if (combinations > COMBINATIONS) {
      for (int i = 0; i < positions; i++) {
        groups[i] = lookUp(i);
      }
      return;
    }
    cache = room(cache, (int) combinations);
    Arrays.fill(cache, 0, (int) combinations, -1);
    for (int i = 0; i < positions; i++) {
      int at = keys[0].codes[i];
      for (int k = 1; k < keys.length; k++) {
        at = at * (keys[k].nullCode + 1) + keys[k].codes[i];
      }
      int group = cache[at];
      groups[i] = group >= 0 ? group : (cache[at] = lookUp(i));
    }
  }

  private int lookUp(int position) {
    int group = findFirst(keys[0].number(keys[0].codes[position]));
    for (int k = 1; k < keys.length; k++) {
      int number = keys[k].number(keys[k].codes[position]);
      group = pairs[k - 1].add((long) group << Integer.SIZE | number & 0xFFFF_FFFFL);
    }
    return group;
  }

  private int findFirst(int number) {
    if (firstGroups.length <= number + 1) {
      firstGroups = Arrays.copyOf(firstGroups, Math.max(256, (number + 2) * 2));
    }
    int known = firstGroups[number + 1];
    if (known > 0) {
      return known - 1;
    }
    if (firstNumbers.length == firstSize) {
      firstNumbers = Arrays.copyOf(firstNumbers, Math.max(256, firstSize * 2));
    }
    firstNumbers[firstSize++] = number;
    firstGroups[number + 1] = firstSize;
    return firstSize - 1;
  }

  /** Appends the groups: for each key all its values, and then the number of each group's value. */
  void write(StatsWriter out) {
    int size = size();
    int[] parents = new int[size];
    Arrays.setAll(parents, i -> i);
    int[][] numbers = new int[keys.length][];
    for (int k = keys.length - 1; k >= 0; k--) {
      int[] of = numbers[k] = new int[size];
      for (int i = 0; i < size; i++) {
        if (k == 0) {
          of[i] = firstNumbers[parents[i]];
        } else {
          long pair = pairs[k - 1].key(parents[i]);
          of[i] = (int) pair;
          parents[i] = (int) (pair >>> Integer.SIZE);
        }
      }
    }
    for (int k = 0; k < keys.length; k++) {
      keys[k].write(out);
      for (int number : numbers[k]) {
        out.putInt(number);
      }
    }
  }

  private static int[] room(int[] array, int count) {
    return array.length < count ? new int[Math.max(count, 256)] : array;
  }
}

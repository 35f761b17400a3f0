package watchfloor.workload.continuous.ingest;

import java.util.NoSuchElementException;
import org.apache.accumulo.core.data.Mutation;
import org.apache.accumulo.core.security.ColumnVisibility;

/**
 * The mutations of linked lists, round by round: each entry points to one of the round before, which has to be flushed
 * before this one is written.
 *
 * <p>A block of lists has one visibility and {@code depth} rounds of {@code interval} entries. Entry i of a round points
 * to the row of entry i of the round before; those of the first round point to none. The block ends with one more round,
 * in which the first round's entries are written again, each pointing to the last row of the next list: that joins all
 * lists of the block.
 */
final class LinkedLists {
  private final EntrySource source;
  private final int depth;
  private final long[] first;
  private final int[] families;
  private final int[] qualifiers;
  private final long[] last;
  private ColumnVisibility visibility;
  private int round = -1;
  private int at;

  LinkedLists(EntrySource source, int interval, int depth) {
    this.source = source;
    this.depth = depth;
    first = new long[interval];
    families = new int[interval];
    qualifiers = new int[interval];
    last = new long[interval];
  }

  /** Goes on to the next round: of this block, or the first one of the next block. */
  void beginRound() {
    round = round == depth ? 0 : round + 1;
    at = 0;
    if (round == 0) {
      visibility = source.drawVisibility();
    }
  }

  /** Returns true until all entries of the round were made. */
  boolean hasNext() {
    return at < (round == depth ? first.length - 1 : first.length);
  }

  Mutation next() {
    if (!hasNext()) {
      throw new NoSuchElementException();
    }
    int i = at++;
    if (round == depth) {
      return source.make(first[i], families[i], qualifiers[i], visibility, last[i + 1]);
    }
    long row = source.drawRow();
    int family = source.drawFamily();
    int qualifier = source.drawQualifier();
    if (round == 0) {
      first[i] = row;
      families[i] = family;
      qualifiers[i] = qualifier;
    }
    Mutation made = source.make(row, family, qualifier, visibility, round == 0 ? -1 : last[i]);
    last[i] = row;
    return made;
  }
}

package watchfloor.stats;

import java.io.IOException;

/** What a tablet server has found out about the events since its last answer. */
public interface PartialAnswer {
  /** Returns whether there is nothing to answer. */
  boolean isEmpty();

  /** Returns about how many bytes of memory this takes. */
  long bytes();

  /** Returns the answer, and forgets it. */
  byte[] takeAnswer() throws IOException;
}

package watchfloor.bridge;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;

import org.apache.accumulo.core.security.Authorizations;
import org.junit.jupiter.api.Test;

class NewestBlocksTest {
  private static final long END = Long.MAX_VALUE;
  private static final NewestBlocks.View T = new NewestBlocks.View("t", Authorizations.EMPTY);

  private final NewestBlocks blocks = new NewestBlocks();

  @Test
  void theOldestEventOfTheNewestBlockIsFoundForLaterEvents() {
    assertNull(blocks.findOldest(T, END));
    blocks.note(T, END, 100, 30);
    assertEquals(70, blocks.findOldest(T, END));
    assertEquals(70, blocks.findOldest(T, 71));
    assertNull(blocks.findOldest(T, 70));
    assertNull(blocks.findOldest(new NewestBlocks.View("other", Authorizations.EMPTY), END));
    assertNull(blocks.findOldest(new NewestBlocks.View("t", new Authorizations("staff")), END));
    assertEquals(70, blocks.findOldest(new NewestBlocks.View("t", new Authorizations()), END));
  }

  @Test
  void aScanOfOlderEventsChangesNothing() {
    blocks.note(T, END, 100, 30);
    blocks.note(T, 100, 60, 10);
    assertEquals(70, blocks.findOldest(T, END));
    blocks.note(T, 101, 60, 10);
    assertEquals(50, blocks.findOldest(T, END), "the newest block was deleted");
    blocks.note(T, END, 200, 10);
    assertEquals(190, blocks.findOldest(T, END));
  }

  @Test
  void aSpanThatIsNotKnownReachesToTheFirstTime() {
    blocks.note(T, END, Long.MIN_VALUE + 5, 10);
    assertEquals(Long.MIN_VALUE, blocks.findOldest(T, END));
  }
}

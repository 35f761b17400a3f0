package watchfloor.bridge;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;

import org.junit.jupiter.api.Test;

class NewestBlocksTest {
  private static final long END = Long.MAX_VALUE;

  private final NewestBlocks blocks = new NewestBlocks();

  @Test
  void theOldestEventOfTheNewestBlockIsFoundForLaterEvents() {
    assertNull(blocks.findOldest("t", END));
    blocks.note("t", END, 100, 30);
    assertEquals(70, blocks.findOldest("t", END));
    assertEquals(70, blocks.findOldest("t", 71));
    assertNull(blocks.findOldest("t", 70));
    assertNull(blocks.findOldest("other", END));
  }

  @Test
  void aScanOfOlderEventsChangesNothing() {
    blocks.note("t", END, 100, 30);
    blocks.note("t", 100, 60, 10);
    assertEquals(70, blocks.findOldest("t", END));
    blocks.note("t", 101, 60, 10);
    assertEquals(50, blocks.findOldest("t", END), "the newest block was deleted");
    blocks.note("t", END, 200, 10);
    assertEquals(190, blocks.findOldest("t", END));
  }

  @Test
  void aSpanThatIsNotKnownReachesToTheFirstTime() {
    blocks.note("t", END, Long.MIN_VALUE + 5, 10);
    assertEquals(Long.MIN_VALUE, blocks.findOldest("t", END));
  }
}

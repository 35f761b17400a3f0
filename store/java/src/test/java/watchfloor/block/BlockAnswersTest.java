package watchfloor.block;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.accumulo.core.data.Key;
import org.apache.accumulo.core.data.Range;
import org.apache.accumulo.core.data.Value;
import org.junit.jupiter.api.Test;
import watchfloor.block.zone.RowTimes;
import watchfloor.iterators.EventOptions;
import watchfloor.iterators.Tables;

class BlockAnswersTest extends DrawnBlocks {
  private List<Map.Entry<Key, Value>> answers(Map<String, String> options, Range range) throws IOException {
    BlockIterator iterator = new BlockIterator();
    iterator.init(Tables.visible(blocks), options, Tables.ENVIRONMENT);
    return new ArrayList<>(Tables.read(iterator, range).entrySet());
  }

  @Test
  void aScanEndsAfterTheWantedAnswers() throws IOException {
    fill(12, "");
    Map<String, String> options = options(null, FIELDS);
    List<Map.Entry<Key, Value>> all = answers(options, new Range());
    for (int wanted : new int[] {1, 5, all.size(), 100}) {
      options.put(EventOptions.ANSWERS, Integer.toString(wanted));
      List<Map.Entry<Key, Value>> found = answers(options, new Range());
      assertEquals(all.subList(0, Math.min(wanted, all.size())), found);
      found = answers(options, new Range(found.get(0).getKey(), false, null, false));
      assertEquals(all.subList(1, Math.min(wanted + 1, all.size())), found, "of a scan that goes on");
    }
    for (String wrong : List.of("0", "-1", "x")) {
      Map<String, String> unfit = Map.of(EventOptions.ANSWERS, wrong);
      assertThrows(IllegalArgumentException.class, () -> new BlockIterator().validateOptions(unfit));
    }
  }

  private static boolean isPostponed(Map.Entry<Key, Value> answer) {
    return BlockAnswer.isPostponed(answer.getKey().getRowData(), answer.getValue().get());
  }

  private static long newest(Map.Entry<Key, Value> answer) {
    return RowTimes.newest(answer.getKey().getRowData().getBackingArray(), answer.getKey().getRowData().offset());
  }

  @Test
  void aFirstBlockThatIsTooOldIsPostponed() throws IOException {
    fill(12, "");
    Map<String, String> options = options(null, FIELDS);
    List<Map.Entry<Key, Value>> all = answers(options, new Range());
    assertFalse(all.stream().anyMatch(BlockAnswersTest::isPostponed));
    options.put(EventOptions.NEW_SINCE, Long.toString(newest(all.get(0)) + 1));
    List<Map.Entry<Key, Value>> first = answers(options, new Range());
    assertEquals(1, first.size());
    assertTrue(isPostponed(first.get(0)));
    assertEquals(all.get(0).getKey(), first.get(0).getKey());
    assertEquals(0, BlockAnswer.countEvents(first.get(0).getValue().get()));
    options.put(EventOptions.NEW_SINCE, Long.toString(newest(all.get(0))));
    options.put(EventOptions.ANSWERS, "1");
    assertEquals(all.subList(0, 1), answers(options, new Range()));
    options.remove(EventOptions.ANSWERS);
    List<Map.Entry<Key, Value>> two = answers(options, new Range());
    assertEquals(all.get(0), two.get(0));
    assertTrue(isPostponed(two.get(1)));
    assertEquals(all.get(1).getKey(), two.get(1).getKey());
    assertEquals(2, two.size());
    Map<String, String> unfit = Map.of(EventOptions.NEW_SINCE, "now");
    assertThrows(IllegalArgumentException.class, () -> new BlockIterator().validateOptions(unfit));
  }

  @Test
  void aScanOfNewBlocksReadsOneBlockAtMost() throws IOException {
    fill(12, "");
    List<Map.Entry<Key, Value>> all = answers(options(null, FIELDS), new Range());
    int kept = 0;
    int postponed = 0;
    for (int round = 0; round < 300; round++) {
      Map<String, String> options = options(tree(2), FIELDS);
      List<Map.Entry<Key, Value>> matching = answers(options, new Range());
      options.put(EventOptions.ANSWERS, "1");
      options.put(EventOptions.NEW_SINCE, Long.toString(newest(all.get(0))));
      List<Map.Entry<Key, Value>> found = answers(options, new Range());
      if (found.isEmpty()) {
        assertTrue(matching.isEmpty());
      } else if (isPostponed(found.get(0))) {
        postponed++;
        // The block that is postponed may match, and none before it does.
        Key next = found.get(0).getKey();
        assertTrue(matching.stream().allMatch(answer -> answer.getKey().compareTo(next) >= 0));
        Range rest = new Range(next, true, null, false);
        assertEquals(matching, answers(options(options), rest));
      } else {
        kept++;
        assertEquals(matching.subList(0, 1), found);
      }
      assertTrue(found.size() <= 1);
    }
    assertTrue(kept > 20 && postponed > 20, kept + " and " + postponed);
  }

  /** The options of the same scan to its end. */
  private static Map<String, String> options(Map<String, String> first) {
    Map<String, String> options = new HashMap<>(first);
    options.keySet().removeAll(List.of(EventOptions.ANSWERS, EventOptions.NEW_SINCE));
    return options;
  }
}

package watchfloor.block;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.apache.accumulo.core.data.Key;
import org.apache.accumulo.core.data.Range;
import org.apache.accumulo.core.data.Value;
import org.junit.jupiter.api.Test;
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
}

package watchfloor.stack;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.lang.reflect.Proxy;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.apache.accumulo.core.spi.common.Stats;
import org.apache.accumulo.core.spi.scan.ScanInfo;
import org.junit.jupiter.api.Test;

class ShortScansFirstTest {
  /** A scan that came, and has run, at and for so many milliseconds; whatever else is asked of it fails. */
  private static ScanInfo scan(long came, long ran) {
    Object stats = answering(Stats.class, "sum", ran);
    return (ScanInfo)
        Proxy.newProxyInstance(
            ShortScansFirstTest.class.getClassLoader(),
            new Class<?>[] {ScanInfo.class},
            (proxy, method, arguments) -> {
              switch (method.getName()) {
                case "getCreationTime":
                  return came;
                case "getRunTimeStats":
                  return stats;
                default:
                  throw new UnsupportedOperationException(method.getName());
              }
            });
  }

  private static Object answering(Class<?> type, String name, Object answer) {
    return Proxy.newProxyInstance(
        ShortScansFirstTest.class.getClassLoader(),
        new Class<?>[] {type},
        (proxy, method, arguments) -> {
          if (method.getName().equals(name)) {
            return answer;
          }
          throw new UnsupportedOperationException(method.getName());
        });
  }

  @Test
  void scansThatHaveRunLetNewOnesGoBefore() {
    List<ScanInfo> waiting = List.of(scan(0, 500), scan(5_000, 0), scan(0, 100), scan(9_999, 0), scan(10_001, 0));
    List<Integer> order =
        Stream.of(0, 1, 2, 3, 4)
            .sorted((a, b) -> new ShortScansFirst().createComparator(null).compare(waiting.get(a), waiting.get(b)))
            .collect(Collectors.toList());
    assertEquals(List.of(2, 1, 3, 0, 4), order, "500 ms of running weigh as 10 s of waiting");
  }
}

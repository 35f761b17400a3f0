package watchfloor.bridge.scan;

import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.accumulo.core.data.Range;
import org.apache.accumulo.core.security.Authorizations;

/**
 * A request for a scan: its values by the names of the fields of Python's {@code EntryScan} or {@code EventScan}. A new
 * field needs no change in this class; the class that uses it reads it by its name.
 */
public final class ScanRequest {
  private final Map<String, Object> values;
  private final List<Range> ranges;

  private ScanRequest(Map<String, Object> values, List<Range> ranges) {
    this.values = values;
    this.ranges = ranges;
  }

  /**
   * Returns a request of these values. Releases the batch of ranges.
   *
   * @param values in the order of their names: null, String, Number, Boolean, String[] or String[][]; {@code ranges} is
   *     a byte[] of packed ranges, or a long[] with the two addresses of an exported batch
   */
  public static ScanRequest of(String[] names, Object[] values) {
    Map<String, Object> named = new HashMap<>();
    for (int i = 0; i < names.length; i++) {
      named.put(names[i], values[i]);
    }
    Object ranges = named.remove("ranges");
    if (ranges instanceof byte[]) {
      return new ScanRequest(named, Ranges.read((byte[]) ranges));
    }
    long[] addresses = (long[]) ranges;
    return new ScanRequest(named, Ranges.read(addresses[0], addresses[1]));
  }

  public List<Range> ranges() {
    return ranges;
  }

  public Authorizations authorizations() {
    return new Authorizations((String[]) get("authorizations"));
  }

  public String text(String name) {
    return (String) get(name);
  }

  public int number(String name) {
    return Math.toIntExact(((Number) get(name)).longValue());
  }

  /** Returns a number, or {@code otherwise} if it is null. */
  public int number(String name, int otherwise) {
    return get(name) == null ? otherwise : number(name);
  }

  /** Returns a time in microseconds; the last one if it is null. */
  public long time(String name) {
    return get(name) == null ? Long.MAX_VALUE : ((Number) get(name)).longValue();
  }

  public boolean flag(String name) {
    return (Boolean) get(name);
  }

  /** Returns the rows of a list of lists of strings, or the keys and the values of a mapping. */
  public String[][] texts(String name) {
    return (String[][]) get(name);
  }

  /** Returns a field that holds names and values alternately as a mapping. */
  public Map<String, String> options(String name) {
    return optionsFrom((String[]) get(name), 0);
  }

  static Map<String, String> optionsFrom(String[] namesAndValues, int start) {
    Map<String, String> options = new HashMap<>();
    for (int i = start; i + 1 < namesAndValues.length; i += 2) {
      options.put(namesAndValues[i], namesAndValues[i + 1]);
    }
    return options;
  }

  /**
   * Returns a value, which may be null. Throws an IllegalArgumentException if the request has no field of that name.
   */
  private Object get(String name) {
    if (!values.containsKey(name)) {
      throw new IllegalArgumentException("the request has no " + name);
    }
    return values.get(name);
  }
}

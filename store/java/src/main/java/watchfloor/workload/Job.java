package watchfloor.workload;

import com.google.gson.Gson;
import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import java.io.PrintStream;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.apache.accumulo.core.client.AccumuloClient;
import org.apache.accumulo.core.security.Authorizations;
import watchfloor.bridge.Connection;

/** What a workload is given: a connection, its options, a place for its records, and word of when to stop. */
public final class Job {
  private static final Gson GSON = new Gson();

  private final Connection connection;
  private final JsonObject options;
  private final PrintStream out;
  private final CountDownLatch stopping = new CountDownLatch(1);

  Job(Connection connection, JsonObject options, PrintStream out) {
    this.connection = connection;
    this.options = options;
    this.out = out;
  }

  public AccumuloClient client() {
    return connection.client();
  }

  public Connection connection() {
    return connection;
  }

  boolean has(String name) {
    return options.has(name);
  }

  /** Returns the text of an option. Throws an IllegalArgumentException if it is not given. */
  public String text(String name) {
    return element(name).getAsString();
  }

  public long number(String name) {
    return element(name).getAsLong();
  }

  public int whole(String name) {
    return Math.toIntExact(number(name));
  }

  public double real(String name) {
    return element(name).getAsDouble();
  }

  public boolean flag(String name) {
    return element(name).getAsBoolean();
  }

  /** Returns the texts of an option that is a list. */
  public List<String> texts(String name) {
    List<String> texts = new ArrayList<>();
    element(name).getAsJsonArray().forEach(text -> texts.add(text.getAsString()));
    return texts;
  }

  /** Returns the authorizations of an option that lists sets of them, each written {@code A,B}. */
  public List<Authorizations> authorizations(String name) {
    List<Authorizations> sets = new ArrayList<>();
    for (String set : texts(name)) {
      sets.add(set.isEmpty() ? Authorizations.EMPTY : new Authorizations(set.split(",")));
    }
    return sets;
  }

  private JsonElement element(String name) {
    JsonElement element = options.get(name);
    if (element == null) {
      throw new IllegalArgumentException("the workload needs the option " + name);
    }
    return element;
  }

  /** Tells one record, as a line of JSON. */
  public synchronized void tell(Map<String, ?> record) {
    out.println(GSON.toJson(record));
    out.flush();
  }

  public boolean isStopping() {
    return stopping.getCount() == 0;
  }

  /** Waits for a time, or until the job is to stop. */
  public void sleep(long millis) throws InterruptedException {
    stopping.await(millis, TimeUnit.MILLISECONDS);
  }

  void stop() {
    stopping.countDown();
  }
}

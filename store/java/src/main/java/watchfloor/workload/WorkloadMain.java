package watchfloor.workload;

import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.Map;
import watchfloor.bridge.Connection;
import watchfloor.bridge.Credentials;
import watchfloor.bridge.HadoopClient;
import watchfloor.bridge.StoreException;
import watchfloor.bridge.ZooKeeperLogin;

/**
 * Runs the workload whose class the argument names, relative to this package.
 *
 * <p>The first line of standard input is a JSON object: {@code properties} (the text of the client properties), {@code
 * user} and {@code password}, {@code zookeeper} (an account, or null) and {@code options}. Passwords come this way
 * because other users of the machine can read arguments. The end of standard input asks the workload to stop, so it
 * does not outlive its caller. Records go to standard output, a JSON object a line. The first has {@code begun}, the time
 * (epoch ms) from which the workload runs. The last one of a workload that failed has {@code error}; that of one whose
 * options do not fit (an IllegalArgumentException) has {@code refused}.
 */
public final class WorkloadMain {
  private WorkloadMain() {}

  public static void main(String[] args) throws Exception {
    PrintStream out = new PrintStream(System.out, false, StandardCharsets.UTF_8);
    BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
    int code = 0;
    String first = in.readLine();
    if (first == null) {
      Runtime.getRuntime().halt(1);
    }
    JsonObject given = JsonParser.parseString(first).getAsJsonObject();
    JsonElement zookeeper = given.get("zookeeper");
    if (zookeeper != null && !zookeeper.isJsonNull()) {
      JsonObject account = zookeeper.getAsJsonObject();
      ZooKeeperLogin.use(account.get("user").getAsString(), account.get("password").getAsString());
    }
    Job job = new Job(null, new JsonObject(), out);
    try {
      JsonElement hadoop = given.get("hadoop");
      if (hadoop != null && !hadoop.isJsonNull()) {
        JsonObject files = hadoop.getAsJsonObject();
        HadoopClient.use(text(files, "folder"), files.has("user") ? credentials(files) : null);
      }
      Credentials credentials = credentials(given);
      Connection connection = Connection.open(given.get("properties").getAsString(), credentials);
      job = new Job(connection, given.getAsJsonObject("options"), out);
      stopAtEnd(in, job);
      job.tell(Map.of("begun", System.currentTimeMillis()));
      load(args[0]).run(job);
    } catch (IllegalArgumentException e) {
      job.tell(Map.of("refused", String.valueOf(e.getMessage())));
      code = 1;
    } catch (OutOfMemoryError e) {
      job.tell(Map.of("error", args[0] + " needs more memory than its heap has: give it more, or smaller buffers"));
      code = 1;
    } catch (Throwable e) {
      job.tell(Map.of("error", StoreException.of(job.has("table") ? job.text("table") : args[0], "use", e).getMessage()));
      code = 1;
    }
    // Exits without waiting for the threads of Accumulo's and ZooKeeper's clients.
    Runtime.getRuntime().halt(code);
  }

  private static Credentials credentials(JsonObject given) {
    String user = given.get("user").getAsString();
    return given.has("password")
        ? Credentials.ofPassword(user, given.get("password").getAsString())
        : Credentials.ofPrincipal(user, text(given, "keytab"), text(given, "kerberos_config"));
  }

  private static String text(JsonObject given, String name) {
    JsonElement value = given.get(name);
    return value == null || value.isJsonNull() ? null : value.getAsString();
  }

  private static Workload load(String name) throws ReflectiveOperationException {
    Class<?> found = Class.forName(WorkloadMain.class.getPackageName() + "." + name);
    return (Workload) found.getDeclaredConstructor().newInstance();
  }

  private static void stopAtEnd(BufferedReader in, Job job) {
    Thread reader =
        new Thread(
            () -> {
              try {
                while (in.readLine() != null) {
                  // Nothing more is expected.
                }
              } catch (java.io.IOException e) {
                // A broken standard input ends it.
              }
              job.stop();
            },
            "watchfloor-stop");
    reader.setDaemon(true);
    reader.start();
  }
}

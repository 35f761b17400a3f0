package watchfloor.bridge;

import java.io.IOException;
import java.io.StringReader;
import java.util.Properties;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.apache.accumulo.core.client.Accumulo;
import org.apache.accumulo.core.client.AccumuloClient;
import org.apache.accumulo.core.client.AccumuloSecurityException;
import org.apache.accumulo.core.client.ConditionalWriter;
import org.apache.accumulo.core.client.ConditionalWriterConfig;
import org.apache.accumulo.core.client.security.SecurityErrorCode;
import org.apache.accumulo.core.client.security.tokens.AuthenticationToken;
import org.apache.accumulo.core.clientImpl.DelegationTokenImpl;
import org.apache.accumulo.core.data.Condition;
import org.apache.accumulo.core.data.ConditionalMutation;

/**
 * A client of one Accumulo instance, connected as one user.
 *
 * <p>A connection is made from the text of an {@code accumulo-client.properties}. Beside Accumulo's own properties the
 * text may hold {@code watchfloor.connect.timeout}, {@code watchfloor.scan.timeout} and {@code
 * watchfloor.write.timeout}: the seconds after which a store that does not answer is an error. Within them a client asks
 * again, and elsewhere, when a server has not answered one request for {@code general.rpc.timeout}.
 */
public final class Connection implements AutoCloseable {
  private static final String OUR_KEYS = "watchfloor.";
  private static final long CLOSE_SECONDS = 2;
  /** Accumulo's own property, and its value if the client properties give none, instead of Accumulo's 120 s. */
  private static final String REQUEST_TIMEOUT = "general.rpc.timeout";
  private static final String REQUEST_SECONDS = "10s";

  private final AccumuloClient client;
  private final AuthenticationToken token;
  private final NewestBlocks newestBlocks = new NewestBlocks();
  private final String place;
  private final long connectSeconds;
  private final long scanSeconds;
  private final long writeSeconds;

  private Connection(Properties properties, Credentials credentials) {
    connectSeconds = seconds(properties, "connect", 15);
    scanSeconds = seconds(properties, "scan", 60);
    writeSeconds = seconds(properties, "write", 60);
    place = properties.getProperty("instance.name") + " at " + properties.getProperty("instance.zookeepers");
    Properties theirs = new Properties();
    properties.stringPropertyNames().stream()
        .filter(key -> !key.startsWith(OUR_KEYS))
        .forEach(key -> theirs.setProperty(key, properties.getProperty(key)));
    // A host that was cut off refuses nothing: requests to it end by this alone.
    theirs.putIfAbsent(REQUEST_TIMEOUT, REQUEST_SECONDS);
    token = credentials.token(theirs);
    client = Accumulo.newClient().from(theirs).as(credentials.user(), token).build();
  }

  private static long seconds(Properties properties, String what, long standard) {
    String key = OUR_KEYS + what + ".timeout";
    String text = properties.getProperty(key, Long.toString(standard));
    try {
      long seconds = Long.parseLong(text.trim());
      if (seconds > 0) {
        return seconds;
      }
    } catch (NumberFormatException e) {
      // The exception below says it, as for a number that is too small.
    }
    throw new StoreException("client property " + key + " is a number of seconds above 0, not '" + text + "'");
  }

  /** Connects, and has a tablet server check the credentials. Throws a StoreException now if the store is down. */
  public static Connection open(String clientPropertiesText, Credentials credentials) {
    Properties properties = new Properties();
    try {
      properties.load(new StringReader(clientPropertiesText));
    } catch (IOException | IllegalArgumentException e) {
      throw new StoreException("client properties cannot be read: " + e.getMessage(), e);
    }
    Connection connection;
    try {
      connection = new Connection(properties, credentials);
    } catch (StoreException e) {
      throw e;
    } catch (RuntimeException e) {
      throw new StoreException("Accumulo client properties are not complete: " + e.getMessage(), e);
    }
    try {
      if (!connection.authenticates(credentials)) {
        throw new StoreException("Accumulo " + connection.place + ": unknown user or wrong password: " + credentials.user());
      }
      return connection;
    } catch (RuntimeException e) {
      connection.close();
      throw e;
    }
  }

  private boolean authenticates(Credentials credentials) {
    Future<Boolean> answer =
        Threads.POOL.submit(
            () -> client.securityOperations().authenticateUser(credentials.user(), token));
    try {
      return answer.get(connectSeconds, TimeUnit.SECONDS);
    } catch (TimeoutException e) {
      throw new StoreException("Accumulo " + place + " does not answer within " + connectSeconds + " s", e);
    } catch (ExecutionException e) {
      Throwable cause = e.getCause();
      if (cause instanceof AccumuloSecurityException
          && ((AccumuloSecurityException) cause).getSecurityErrorCode() == SecurityErrorCode.BAD_CREDENTIALS) {
        return false;
      }
      throw new StoreException("Accumulo " + place + ": " + cause.getMessage(), cause);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new StoreException("Accumulo " + place + ": interrupted while connecting", e);
    } finally {
      answer.cancel(true);
    }
  }

  /**
   * Returns the number of threads of a BatchScanner: {@code requests}, but at least one for each tablet server. The
   * scanner makes as many requests at once as it has threads.
   */
  public int threads(int requests) {
    return Math.max(requests, client.instanceOperations().getTabletServers().size());
  }

  /** Throws a StoreException if no tablet server answers. A scan calls it after a long silence. */
  public void probe() {
    Future<Boolean> answer =
        Threads.POOL.submit(
            () -> {
              for (String server : client.instanceOperations().getTabletServers()) {
                client.instanceOperations().ping(server);
                return true;
              }
              return false;
            });
    try {
      if (!answer.get(connectSeconds, TimeUnit.SECONDS)) {
        throw new StoreException("Accumulo " + place + " has no tablet server");
      }
    } catch (TimeoutException | ExecutionException e) {
      throw new StoreException("Accumulo " + place + " does not answer any more", e);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new StoreException("Accumulo " + place + ": interrupted", e);
    } finally {
      answer.cancel(true);
    }
  }

  /**
   * Writes a cell durably if another one of its row and family, or itself, has the expected value. Check and write are
   * atomic among all callers of this method.
   *
   * @param checked the qualifier of the cell that is compared
   * @param expected its present value; null if it must not exist
   * @return false if it was not as expected; nothing is changed then
   */
  public boolean writeIf(
      String table, byte[] row, byte[] family, byte[] checked, byte[] expected, byte[] qualifier, byte[] value) {
    Condition condition = new Condition(family, checked);
    if (expected != null) {
      condition.setValue(expected);
    }
    ConditionalMutation mutation = new ConditionalMutation(row, condition);
    mutation.put(family, qualifier, value);
    ConditionalWriterConfig config = new ConditionalWriterConfig().setTimeout(writeSeconds, TimeUnit.SECONDS);
    try (ConditionalWriter writer = client.createConditionalWriter(table, config)) {
      ConditionalWriter.Status status = writer.write(mutation).getStatus();
      if (status != ConditionalWriter.Status.ACCEPTED && status != ConditionalWriter.Status.REJECTED) {
        throw new StoreException("table " + table + ": it is not known whether a cell was written: " + status);
      }
      return status == ConditionalWriter.Status.ACCEPTED;
    } catch (Exception e) {
      throw StoreException.of(table, "write", e);
    }
  }

  /** Returns the time (epoch ms) at which the token ends by which the user is proved; the last one if it does not end. */
  public long tokenEnd() {
    return token instanceof DelegationTokenImpl
        ? ((DelegationTokenImpl) token).getIdentifier().getExpirationDate()
        : Long.MAX_VALUE;
  }

  public NewestBlocks newestBlocks() {
    return newestBlocks;
  }

  public AccumuloClient client() {
    return client;
  }

  public long scanSeconds() {
    return scanSeconds;
  }

  public long writeSeconds() {
    return writeSeconds;
  }

  /** Closes the client. Waits for that for a short time only, as the client may be busy with a store that is gone. */
  @Override
  public void close() {
    Future<?> closing = Threads.POOL.submit(client::close);
    try {
      closing.get(CLOSE_SECONDS, TimeUnit.SECONDS);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    } catch (ExecutionException | TimeoutException e) {
      // Only daemon threads of the client remain, and nothing of ours waits for them.
      closing.cancel(true);
    }
  }
}

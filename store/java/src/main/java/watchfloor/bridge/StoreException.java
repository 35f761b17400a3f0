package watchfloor.bridge;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutionException;
import org.apache.accumulo.core.client.AccumuloSecurityException;
import org.apache.accumulo.core.client.MutationsRejectedException;
import org.apache.accumulo.core.client.TableDeletedException;
import org.apache.accumulo.core.client.TableNotFoundException;
import org.apache.accumulo.core.client.TableOfflineException;
import org.apache.accumulo.core.client.TimedOutException;
import org.apache.accumulo.core.clientImpl.ThriftScanner.ScanTimedOutException;
import org.apache.accumulo.core.util.BadArgumentException;

/** Thrown if the store is down or refuses what it was given. The message names the table and the cause. */
public final class StoreException extends RuntimeException {
  private static final long serialVersionUID = 1L;

  public StoreException(String message) {
    super(message);
  }

  public StoreException(String message, Throwable cause) {
    super(message, cause);
  }

  /**
   * Returns an exception that says in one line why an action ("write", "scan") on a table failed. An error that is, or
   * wraps, a StoreException is returned as that StoreException.
   */
  public static StoreException of(String table, String action, Throwable error) {
    Throwable known = error;
    while ((known instanceof ExecutionException || known.getClass() == RuntimeException.class)
        && known.getCause() != null) {
      known = known.getCause();
    }
    if (known instanceof StoreException) {
      return (StoreException) known;
    }
    return new StoreException("table " + table + ": " + action + " failed: " + reason(known), error);
  }

  private static String reason(Throwable error) {
    if (error instanceof TableNotFoundException) {
      return "the table does not exist";
    }
    if (error instanceof TableDeletedException) {
      return "the table was deleted";
    }
    if (error instanceof TableOfflineException) {
      return "the table is offline";
    }
    if (error instanceof ScanTimedOutException) {
      return "its tablet servers did not answer in time; is each of them up, and its host reached from here?";
    }
    if (error instanceof TimedOutException) {
      return "tablet servers " + ((TimedOutException) error).getTimedOutSevers() + " did not answer in time; are they reached from here?";
    }
    if (error instanceof MutationsRejectedException) {
      return rejection((MutationsRejectedException) error);
    }
    if (error instanceof AccumuloSecurityException) {
      AccumuloSecurityException security = (AccumuloSecurityException) error;
      return "user " + security.getUser() + ": " + security.getSecurityErrorCode();
    }
    if (error instanceof BadArgumentException) {
      return "bad visibility: " + error.getMessage().replace('\n', ' ');
    }
    return chain(error);
  }

  private static String rejection(MutationsRejectedException error) {
    List<String> reasons = new ArrayList<>();
    error
        .getConstraintViolationSummaries()
        .forEach(
            violation ->
                reasons.add(
                    violation.getNumberOfViolatingMutations()
                        + " mutations violate constraint "
                        + violation.getConstrainClass()
                        + ": "
                        + violation.getViolationDescription()));
    error.getSecurityErrorCodes().forEach((tablet, codes) -> reasons.add("no permission: " + codes));
    if (error.getCause() instanceof TimedOutException || !error.getErrorServers().isEmpty()) {
      reasons.add("tablet servers " + error.getErrorServers() + " did not answer in time");
    }
    if (reasons.isEmpty() && error.getCause() != null) {
      return reason(error.getCause());
    }
    return reasons.isEmpty() ? error.getMessage() : String.join("; ", reasons);
  }

  /** Returns the messages of an error and of its causes, each once, as servers put the telling part at the end. */
  private static String chain(Throwable error) {
    StringBuilder text = new StringBuilder();
    int depth = 0;
    for (Throwable at = error; at != null && depth < 6; at = at.getCause(), depth++) {
      String part = at.getMessage() == null ? at.getClass().getSimpleName() : at.getMessage();
      if (text.indexOf(part) < 0) {
        text.append(text.length() == 0 ? "" : ": ").append(part);
      }
    }
    return text.toString();
  }
}

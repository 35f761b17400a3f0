package watchfloor.bridge;

import java.io.IOException;
import java.security.PrivilegedExceptionAction;
import java.util.Properties;
import org.apache.accumulo.core.client.Accumulo;
import org.apache.accumulo.core.client.AccumuloClient;
import org.apache.accumulo.core.client.admin.DelegationTokenConfig;
import org.apache.accumulo.core.client.security.tokens.AuthenticationToken;
import org.apache.accumulo.core.client.security.tokens.KerberosToken;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.security.UserGroupInformation;

/**
 * The login of this JVM at Kerberos.
 *
 * <p>Accumulo's client opens connections as the one principal that the JVM has logged in. That is the first one that
 * connects; Hadoop renews its ticket. A further principal proves itself once and gets a delegation token from Accumulo,
 * which is valid for {@code general.delegation.token.lifetime} (7 days by default).
 */
final class KerberosLogin {
  private static String principal;

  private KerberosLogin() {}

  /** Returns the token of a principal, which logs in unless it has. Throws a StoreException that says what to do. */
  static synchronized AuthenticationToken logIn(String wanted, String keytab, String config, Properties client) {
    try {
      if (isLoggedIn(wanted, keytab, config)) {
        checkTicket(wanted, UserGroupInformation.getLoginUser());
        return new KerberosToken();
      }
      return delegated(wanted, keytab, client);
    } catch (StoreException e) {
      throw e;
    } catch (Exception e) {
      throw refused(wanted, keytab, e);
    }
  }

  /** Logs a principal in for the files of the store, unless the JVM is one already. Throws as {@code logIn} does. */
  static synchronized void logInForFiles(String wanted, String keytab, String config) {
    try {
      isLoggedIn(wanted, keytab, config);
    } catch (Exception e) {
      throw refused(wanted, keytab, e);
    }
  }

  /** Returns whether the JVM is {@code wanted}, which it becomes if it is nobody yet. */
  private static boolean isLoggedIn(String wanted, String keytab, String config) throws IOException {
    if (config != null) {
      System.setProperty("java.security.krb5.conf", config);
    }
    Configuration kerberos = HadoopClient.copy();
    kerberos.set("hadoop.security.authentication", "kerberos");
    kerberos.set("hadoop.kerberos.keytab.login.autorenewal.enabled", "true");
    UserGroupInformation.setConfiguration(kerberos);
    if (principal == null) {
      logInFirst(wanted, keytab);
      principal = wanted;
    }
    return principal.equals(wanted);
  }

  private static StoreException refused(String wanted, String keytab, Exception e) {
    String remedy = keytab == null ? "run kinit " + wanted : "is " + keytab + " its keytab, and does the KDC answer?";
    return new StoreException("Kerberos does not let " + wanted + " in: " + reason(e) + "; " + remedy, e);
  }

  private static void logInFirst(String wanted, String keytab) throws IOException {
    if (keytab != null) {
      UserGroupInformation.loginUserFromKeytab(wanted, keytab);
    } else {
      // Takes the ticket from the cache of the process's user.
      UserGroupInformation.loginUserFromSubject(null);
    }
  }

  /** Throws a StoreException unless a user has logged in as a principal, with a ticket that is still valid. */
  private static void checkTicket(String wanted, UserGroupInformation user) {
    if (!user.hasKerberosCredentials()) {
      throw new StoreException("there is no ticket of " + wanted + ", or it has expired: run kinit " + wanted);
    }
    if (!user.getUserName().equals(wanted)) {
      throw new StoreException("the ticket is one of " + user.getUserName() + ", not of " + wanted + ": run kinit " + wanted);
    }
  }

  private static AuthenticationToken delegated(String wanted, String keytab, Properties client) throws Exception {
    if (keytab == null) {
      throw new StoreException("this process is " + principal + ": to be " + wanted + " too it needs that one's keytab");
    }
    UserGroupInformation user = UserGroupInformation.loginUserFromKeytabAndReturnUGI(wanted, keytab);
    PrivilegedExceptionAction<AuthenticationToken> ask =
        () -> {
          try (AccumuloClient asking = Accumulo.newClient().from(client).as(wanted, new KerberosToken()).build()) {
            return asking.securityOperations().getDelegationToken(new DelegationTokenConfig());
          }
        };
    return user.doAs(ask);
  }

  private static String reason(Throwable error) {
    Throwable cause = error;
    while (cause.getCause() != null) {
      cause = cause.getCause();
    }
    return cause.getMessage() == null ? cause.getClass().getSimpleName() : cause.getMessage().replaceAll("\\s+", " ");
  }
}

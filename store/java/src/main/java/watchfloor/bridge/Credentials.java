package watchfloor.bridge;

import java.util.Optional;
import java.util.Properties;
import org.apache.accumulo.core.client.security.tokens.AuthenticationToken;
import org.apache.accumulo.core.client.security.tokens.PasswordToken;

/** A user and what proves it: a password, or a principal's key or ticket. Accumulo's tokens are made only here. */
public final class Credentials {
  private final String user;
  private final PasswordToken password;
  private final String keytab;
  private final String config;

  private Credentials(String user, PasswordToken password, String keytab, String config) {
    this.user = user;
    this.password = password;
    this.keytab = keytab;
    this.config = config;
  }

  public static Credentials ofPassword(String user, String password) {
    return new Credentials(user, new PasswordToken(password), null, null);
  }

  /**
   * Returns the credentials of a principal of Kerberos.
   *
   * @param keytab the file with the principal's key; null if its ticket is in the cache of this process's user
   * @param config the krb5.conf; null for the system's
   */
  public static Credentials ofPrincipal(String principal, String keytab, String config) {
    return new Credentials(principal, null, keytab, config);
  }

  public String user() {
    return user;
  }

  /**
   * Returns the token with which a client proves its user. A principal logs in for that.
   *
   * @param client the client's properties, by which a principal may have to ask Accumulo for a token
   */
  public AuthenticationToken token(Properties client) {
    return password != null ? password : KerberosLogin.logIn(user, keytab, config, client);
  }

  /** Logs a principal in for the files of the store, if this JVM has not logged in as any. */
  void logIn() {
    if (password == null) {
      KerberosLogin.logInForFiles(user, keytab, config);
    }
  }

  /** Returns the token of a user whose password Accumulo itself keeps; nothing for a principal. */
  public Optional<PasswordToken> passwordToken() {
    return Optional.ofNullable(password);
  }
}

package watchfloor.bridge;

import org.apache.accumulo.core.client.security.tokens.AuthenticationToken;
import org.apache.accumulo.core.client.security.tokens.PasswordToken;

/** A user and how it is proved: the one place where Accumulo's tokens are made. Passwords are the only kind so far. */
public final class Credentials {
  private final String user;
  private final PasswordToken token;

  private Credentials(String user, PasswordToken token) {
    this.user = user;
    this.token = token;
  }

  public static Credentials ofPassword(String user, String password) {
    return new Credentials(user, new PasswordToken(password));
  }

  public String user() {
    return user;
  }

  public AuthenticationToken token() {
    return token;
  }

  /** The token of a user whose password Accumulo itself keeps. */
  public PasswordToken passwordToken() {
    return token;
  }
}

package watchfloor.bridge;

import org.apache.accumulo.core.client.security.tokens.AuthenticationToken;
import org.apache.accumulo.core.client.security.tokens.PasswordToken;

/** A user and the token that proves it. Accumulo's tokens are made only here. Passwords are the only kind so far. */
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

  /** Returns the token of a user whose password Accumulo itself keeps. */
  public PasswordToken passwordToken() {
    return token;
  }
}

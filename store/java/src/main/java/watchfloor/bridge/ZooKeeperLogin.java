package watchfloor.bridge;

import java.util.Map;
import javax.security.auth.login.AppConfigurationEntry;
import javax.security.auth.login.AppConfigurationEntry.LoginModuleControlFlag;
import javax.security.auth.login.Configuration;
import org.apache.zookeeper.server.auth.DigestLoginModule;

/**
 * The login with which ZooKeeper's clients of this JVM authenticate (SASL with DIGEST-MD5, which does not send the
 * password). Without it they connect as nobody.
 *
 * <p>ZooKeeper's client asks for the login whenever it connects, so there is one in a JVM: the one that was set last.
 */
public final class ZooKeeperLogin extends Configuration {
  private static final String CLIENT = "Client";

  private final AppConfigurationEntry[] entries;

  private ZooKeeperLogin(String user, String password) {
    Map<String, String> options = Map.of("username", user, "password", password);
    entries =
        new AppConfigurationEntry[] {
          new AppConfigurationEntry(DigestLoginModule.class.getName(), LoginModuleControlFlag.REQUIRED, options)
        };
  }

  /** Makes every connection to ZooKeeper from now on authenticate as this user. */
  public static void use(String user, String password) {
    Configuration.setConfiguration(new ZooKeeperLogin(user, password));
  }

  @Override
  public AppConfigurationEntry[] getAppConfigurationEntry(String name) {
    return CLIENT.equals(name) ? entries : null;
  }
}

package watchfloor.stack;

import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import org.apache.accumulo.core.Constants;
import org.apache.accumulo.core.client.AccumuloClient;
import org.apache.accumulo.core.clientImpl.Namespace;
import org.apache.accumulo.core.conf.SiteConfiguration;
import org.apache.accumulo.core.fate.zookeeper.ZooReaderWriter;
import org.apache.accumulo.core.fate.zookeeper.ZooUtil.NodeExistsPolicy;
import org.apache.accumulo.core.security.Authorizations;
import org.apache.accumulo.core.security.NamespacePermission;
import org.apache.accumulo.server.ServerContext;
import org.apache.accumulo.server.init.Initialize;
import org.apache.zookeeper.data.ACL;

/**
 * The change of all users of an instance from those with passwords to principals of Kerberos, or back. Accumulo forgets
 * users, rights and labels with it; the labels are kept in a file meanwhile. Tables and their entries stay.
 */
final class UserReset {
  private static final String LABELS = "/Authorizations";

  private UserReset() {}

  /**
   * Removes all users and makes the given one the administrator. No server of Accumulo may run.
   *
   * @param password the administrator's; empty for a principal
   * @param file gets the labels of all users, a line each, unless it exists: an earlier try may have removed the users
   */
  static void reset(String user, String password, Path file) throws Exception {
    if (!Files.exists(file)) {
      Path unfinished = Path.of(file + ".new");
      Files.write(unfinished, labels(), StandardCharsets.UTF_8);
      Files.move(unfinished, file, StandardCopyOption.ATOMIC_MOVE);
    }
    new Initialize().execute(new String[] {"--reset-security", "--force", "--user", user, "--password", password});
  }

  /**
   * Makes the node of the keys of delegation tokens, as a manager demands it: one identity may use it, that of the
   * instance's secret. A manager would make it with two, as our servers log in at ZooKeeper too, and end at its next start.
   */
  static void protectTokenKeys() throws Exception {
    try (ServerContext context = new ServerContext(SiteConfiguration.auto())) {
      String node = context.getZooKeeperRoot() + Constants.ZDELEGATION_TOKEN_KEYS;
      ZooReaderWriter zookeeper = context.getZooReaderWriter();
      zookeeper.putPrivatePersistentData(node, new byte[0], NodeExistsPolicy.SKIP);
      List<ACL> owners = zookeeper.getACL(node);
      owners.removeIf(owner -> !owner.getId().getScheme().equals("digest"));
      zookeeper.getZooKeeper().setACL(node, owners, -1);
    }
  }

  private static Set<String> labels() throws Exception {
    Set<String> labels = new TreeSet<>();
    SiteConfiguration site = SiteConfiguration.auto();
    try (ServerContext context = new ServerContext(site)) {
      ZooReaderWriter zookeeper = context.getZooReaderWriter();
      String users = context.getZooKeeperRoot() + "/users";
      for (String user : zookeeper.getChildren(users)) {
        String node = users + "/" + user + LABELS;
        if (zookeeper.exists(node)) {
          for (byte[] label : new Authorizations(zookeeper.getData(node)).getAuthorizations()) {
            labels.add(new String(label, StandardCharsets.UTF_8));
          }
        }
      }
    }
    return labels;
  }

  /** Gives the administrator all rights to what there is, the reader the right to read it, and both the kept labels. */
  static void adopt(AccumuloClient client, String reader, Path file) throws Exception {
    var security = client.securityOperations();
    for (String namespace : client.namespaceOperations().list()) {
      if (namespace.equals(Namespace.ACCUMULO.name())) {
        continue;
      }
      for (NamespacePermission permission : NamespacePermission.values()) {
        security.grantNamespacePermission(client.whoami(), namespace, permission);
      }
      if (!namespace.equals(Namespace.DEFAULT.name())) {
        security.grantNamespacePermission(reader, namespace, NamespacePermission.READ);
      }
    }
    if (Files.exists(file)) {
      List<String> labels = Files.readAllLines(file, StandardCharsets.UTF_8);
      for (String user : List.of(client.whoami(), reader)) {
        security.changeUserAuthorizations(user, new Authorizations(labels.toArray(new String[0])));
      }
    }
  }
}

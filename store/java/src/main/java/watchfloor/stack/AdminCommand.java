package watchfloor.stack;

import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.HashMap;
import java.util.Map;
import java.util.Map.Entry;
import java.util.Objects;
import java.util.Properties;
import java.util.TreeMap;
import org.apache.accumulo.core.Constants;
import org.apache.accumulo.core.client.Accumulo;
import org.apache.accumulo.core.client.AccumuloClient;
import org.apache.accumulo.core.client.Scanner;
import org.apache.accumulo.core.clientImpl.ClientContext;
import org.apache.accumulo.core.conf.SiteConfiguration;
import org.apache.accumulo.core.data.Key;
import org.apache.accumulo.core.data.Value;
import org.apache.accumulo.core.fate.zookeeper.ZooReaderWriter;
import org.apache.accumulo.core.fate.zookeeper.ZooUtil.NodeExistsPolicy;
import org.apache.accumulo.core.master.thrift.TableInfo;
import org.apache.accumulo.core.master.thrift.TabletServerStatus;
import org.apache.accumulo.core.rpc.clients.ThriftClientTypes;
import org.apache.accumulo.core.client.security.tokens.PasswordToken;
import org.apache.accumulo.core.security.Authorizations;
import org.apache.accumulo.core.security.SystemPermission;
import org.apache.accumulo.core.trace.TraceUtil;
import org.apache.accumulo.server.init.Initialize;
import org.apache.accumulo.server.security.SecurityUtil;
import org.apache.hadoop.io.Text;
import org.apache.zookeeper.ZooDefs;
import org.apache.zookeeper.ZooDefs.Perms;
import org.apache.zookeeper.ZooKeeper;
import org.apache.zookeeper.data.ACL;
import watchfloor.bridge.Credentials;
import watchfloor.bridge.ZooKeeperLogin;

/**
 * The command with which the local stack asks Accumulo to do something. It runs as a short-lived process of its own, so
 * the caller can end it when it takes too long, and needs no JVM inside itself. Passwords come from files, because
 * other users of the machine can read a process's arguments.
 */
public final class AdminCommand {
  private static final Text LOCATION = new Text("loc");
  private static final Text TABLET = new Text("~tab");
  private static final Text END_ROW = new Text("~pr");
  private static final String[] OPEN_NODES = {"/", "/accumulo", "/accumulo/instances", "/zookeeper", "/zookeeper/quota"};
  private static final long RPC_MILLIS = 5_000;
  private static final long POLL_MILLIS = 100;

  private AdminCommand() {}

  public static void main(String[] args) {
    ShortTask.runAndHalt(() -> run(args));
  }

  private static void run(String[] args) throws Exception {
    logInAtZooKeeper();
    switch (args.length == 0 ? "" : args[0]) {
      case "init" -> init(args[1], args[2], args[3]);
      case "reset" -> {
        logInAsServer();
        UserReset.reset(args[1], initialPassword(args[2]), Path.of(args[3]));
      }
      case "protect" -> {
        logInAsServer();
        UserReset.protectTokenKeys();
      }
      case "prepare" -> {
        try (AccumuloClient client = open(args[1], args[2], args[3])) {
          allowService(client);
          protectOpenNodes();
          awaitTablets(client, System.nanoTime() + Long.parseLong(args[6]) * 1_000_000_000L);
          ensureUser(client, credentials(args[4], args[5]));
          if (args.length > 7) {
            UserReset.adopt(client, args[4], Path.of(args[7]));
          }
        }
      }
      case "tables" -> {
        try (AccumuloClient client = open(args[1], args[2], args[3])) {
          System.out.print(tables(client));
        }
      }
      case "stop" -> {
        try (AccumuloClient client = open(args[1], args[2], args[3])) {
          stop(client, Arrays.copyOfRange(args, 4, args.length));
        }
      }
      default -> throw new IllegalArgumentException("init | reset | protect | prepare | tables | stop");
    }
  }

  /** Authenticates at an existing cluster's ZooKeeper, if system properties name a user and the file of a password. */
  private static void logInAtZooKeeper() throws Exception {
    String user = System.getProperty("watchfloor.zookeeper.user");
    if (user != null) {
      ZooKeeperLogin.use(user, password(System.getProperty("watchfloor.zookeeper.password.file")));
    }
  }

  /** Logs in as Accumulo's servers do, for what reads the instance's number from the volume. */
  private static void logInAsServer() {
    SecurityUtil.serverLogin(SiteConfiguration.auto());
  }

  private static void init(String instance, String user, String file) throws Exception {
    new Initialize()
        .execute(new String[] {"--instance-name", instance, "--user", user, "--password", initialPassword(file)});
  }

  /** Returns the password of the first user; a principal's is not used. */
  private static String initialPassword(String file) throws Exception {
    return isKeytab(file) ? "" : password(file);
  }

  private static AccumuloClient open(String properties, String user, String file) throws Exception {
    Properties settings = new Properties();
    try (var in = Files.newBufferedReader(Path.of(properties))) {
      settings.load(in);
    }
    return Accumulo.newClient().from(settings).as(user, credentials(user, file).token(settings)).build();
  }

  /** Returns a user's credentials from the file of its password, or from the keytab of a principal; "-": its ticket. */
  private static Credentials credentials(String user, String file) throws Exception {
    if (file.equals("-") || isKeytab(file)) {
      return Credentials.ofPrincipal(user, file.equals("-") ? null : file, null);
    }
    return Credentials.ofPassword(user, password(file));
  }

  private static boolean isKeytab(String file) {
    return file.endsWith(".keytab");
  }

  private static String password(String file) throws Exception {
    return Files.readString(Path.of(file), StandardCharsets.UTF_8).strip();
  }

  /** Resets the goal state that a stop leaves in ZooKeeper. With it a manager that starts later would end at once. */
  private static void allowService(AccumuloClient client) throws Exception {
    String path = Constants.ZROOT + "/" + client.instanceOperations().getInstanceId() + Constants.ZMANAGER_GOAL_STATE;
    new ZooReaderWriter(SiteConfiguration.auto())
        .putPersistentData(path, "NORMAL".getBytes(StandardCharsets.UTF_8), NodeExistsPolicy.OVERWRITE);
  }

  /**
   * Leaves the nodes that every session may change by default to servers; others read them. Accumulo itself protects
   * what it makes below.
   */
  private static void protectOpenNodes() throws Exception {
    ACL own = new ACL(Perms.ALL, ZooDefs.Ids.AUTH_IDS);
    ACL readable = new ACL(Perms.READ, ZooDefs.Ids.ANYONE_ID_UNSAFE);
    ZooKeeper zookeeper = new ZooReaderWriter(SiteConfiguration.auto()).getZooKeeper();
    for (String node : OPEN_NODES) {
      zookeeper.setACL(node, Arrays.asList(own, readable), -1);
    }
  }

  private static void ensureUser(AccumuloClient client, Credentials credentials) throws Exception {
    var security = client.securityOperations();
    String user = credentials.user();
    PasswordToken password = credentials.passwordToken().orElse(null);
    if (!security.listLocalUsers().contains(user)) {
      security.createLocalUser(user, password);
    } else if (password != null && !security.authenticateUser(user, password)) {
      security.changeLocalUserPassword(user, password);
    }
    if (password == null) {
      // By which it may share a process with the other user: see KerberosLogin.
      security.grantSystemPermission(user, SystemPermission.OBTAIN_DELEGATION_TOKEN);
    }
  }

  /** Returns when every tablet of every online table is served. Throws an exception at the deadline. */
  private static void awaitTablets(AccumuloClient client, long deadline) throws Exception {
    while (true) {
      int wanted = 0;
      int served = 0;
      boolean all = true;
      for (TableState table : states(client).values()) {
        wanted += table.online ? table.tablets : 0;
        served += table.online ? table.served : 0;
        all &= !table.online || table.tablets > 0 && table.served >= table.tablets;
      }
      if (all) {
        return;
      }
      if (System.nanoTime() > deadline) {
        throw new IllegalStateException(served + " of " + wanted + " tablets are served");
      }
      Thread.sleep(POLL_MILLIS);
    }
  }

  /** Returns a line per table: name, online or offline, tablets, served tablets, entries, entries in memory. */
  public static String tables(AccumuloClient client) throws Exception {
    StringBuilder lines = new StringBuilder();
    for (TableState t : states(client).values()) {
      lines.append(String.join("\t", t.name, t.online ? "online" : "offline", "" + t.tablets, "" + t.served,
          "" + t.entries, "" + t.memory)).append('\n');
    }
    return lines.toString();
  }

  private static final class TableState {
    String name;
    boolean online = true;
    int tablets;
    int served;
    long entries;
    long memory;
  }

  /**
   * Returns the state of all tables by name. The number of tablets is from the metadata. All else is reported by the
   * living tablet servers, as the metadata names a killed server until the manager has noticed its end.
   */
  private static Map<String, TableState> states(AccumuloClient client) throws Exception {
    Map<String, TableState> byId = new HashMap<>();
    Map<String, TableState> byName = new TreeMap<>();
    var operations = client.tableOperations();
    for (Entry<String, String> table : operations.tableIdMap().entrySet()) {
      TableState state = new TableState();
      state.name = table.getKey();
      state.online = operations.isOnline(state.name);
      byId.put(table.getValue(), state);
      byName.put(state.name, state);
    }
    var living = TabletServers.statuses(client, RPC_MILLIS).values();
    living.removeIf(Objects::isNull);
    for (TabletServerStatus server : living) {
      for (Entry<String, TableInfo> table : server.getTableMap().entrySet()) {
        TableState state = byId.get(table.getKey());
        if (state != null) {
          state.served += table.getValue().getOnlineTablets();
          state.entries += table.getValue().getRecs();
          state.memory += table.getValue().getRecsInMemory();
        }
      }
    }
    TableState root = byName.get("accumulo.root");
    TableState metadata = byName.get("accumulo.metadata");
    // A scan of tablets that no server serves yet would back off for seconds; asking the servers is cheap.
    root.tablets = 1;
    if (root.served == 0 || metadata.served == 0) {
      return byName;
    }
    for (String table : new String[] {root.name, metadata.name}) {
      try (Scanner scanner = client.createScanner(table, Authorizations.EMPTY)) {
        scanner.fetchColumn(TABLET, END_ROW);
        for (Entry<Key, Value> entry : scanner) {
          String row = entry.getKey().getRow().toString();
          TableState state = byId.get(row.split("[;<]", 2)[0]);
          if (state != null) {
            state.tablets++;
          }
        }
      }
    }
    return byName;
  }

  /**
   * Asks the manager to shut these tablet servers down, or all of them and itself if none is named. They write what they
   * have in memory to files, so that the next start has no log to recover.
   */
  private static void stop(AccumuloClient client, String[] servers) throws Exception {
    ClientContext context = (ClientContext) client;
    for (String server : servers) {
      ThriftClientTypes.MANAGER.executeVoid(context,
          rpc -> rpc.shutdownTabletServer(TraceUtil.traceInfo(), context.rpcCreds(), server, false));
    }
    if (servers.length == 0) {
      ThriftClientTypes.MANAGER.executeVoid(context,
          rpc -> rpc.shutdown(TraceUtil.traceInfo(), context.rpcCreds(), true));
    }
  }
}

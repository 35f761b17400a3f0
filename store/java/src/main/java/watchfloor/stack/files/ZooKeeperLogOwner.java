package watchfloor.stack.files;

import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import org.apache.accumulo.core.Constants;
import org.apache.accumulo.core.conf.SiteConfiguration;
import org.apache.accumulo.core.fate.zookeeper.ServiceLock;
import org.apache.accumulo.core.fate.zookeeper.ServiceLock.ServiceLockPath;
import org.apache.accumulo.core.fate.zookeeper.ZooReaderWriter;
import org.apache.accumulo.core.metadata.TServerInstance;
import org.apache.accumulo.server.fs.VolumeManager;
import org.apache.accumulo.server.log.WalStateManager;
import org.apache.hadoop.conf.Configuration;
import org.apache.zookeeper.KeeperException;
import org.apache.zookeeper.data.Stat;

/**
 * Looks in ZooKeeper, with the configuration of the server that this process is, for the entry of a log and for the lock
 * of its server. A log's path is VOLUME/wal/HOST+PORT/ID.
 *
 * <p>A server's connection is not enough: Accumulo's replaces an expired session by a new one, with which a server that
 * counts as dead can make further logs known.
 */
final class ZooKeeperLogOwner implements LogOwner {
  private final Configuration hadoop;

  ZooKeeperLogOwner(Configuration hadoop) {
    this.hadoop = hadoop;
  }

  @Override
  public void requireLock(Path log) throws IOException {
    Path folder = log.getParent();
    String server = folder.getFileName().toString().replace('+', ':');
    Path instance = folder.getParent().resolveSibling(Constants.INSTANCE_ID_DIR);
    String root = Constants.ZROOT + "/"
        + VolumeManager.getInstanceIDFromHdfs(new org.apache.hadoop.fs.Path(instance.toUri()), hadoop);
    ZooReaderWriter zookeeper = new ZooReaderWriter(SiteConfiguration.auto());
    try {
      String holder = readHolder(zookeeper, root, server);
      String entry = root + WalStateManager.ZWALS + "/" + holder + "/" + log.getFileName();
      // The holder is read again after the entry, because the lock must be held when the entry is there.
      if (holder != null && zookeeper.exists(entry) && holder.equals(readHolder(zookeeper, root, server))) {
        return;
      }
    } catch (KeeperException e) {
      throw new IOException("ZooKeeper does not tell whether this server holds its lock: " + e.getMessage(), e);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new IOException("interrupted while asking ZooKeeper whether this server holds its lock", e);
    }
    throw new IOException("the write-ahead log " + log + " is of a server that holds no lock: it counts as dead");
  }

  /** Returns the name of the process that holds the lock of a server's address; null if none does. */
  private static String readHolder(ZooReaderWriter zookeeper, String root, String server)
      throws KeeperException, InterruptedException {
    ServiceLockPath path = ServiceLock.path(root + Constants.ZTSERVERS + "/" + server);
    if (!zookeeper.exists(path.toString())) {
      return null;
    }
    List<String> locks = ServiceLock.validateAndSort(path, zookeeper.getChildren(path.toString()));
    Stat stat = locks.isEmpty() ? null : zookeeper.getStatus(path + "/" + locks.get(0));
    return stat == null ? null : new TServerInstance(server, stat.getEphemeralOwner()).getHostPortSession();
  }
}

package watchfloor.stack.hdfs;

import java.io.IOException;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.permission.FsPermission;
import org.apache.hadoop.hdfs.DistributedFileSystem;
import org.apache.hadoop.hdfs.protocol.HdfsConstants.DatanodeReportType;
import org.apache.hadoop.hdfs.protocol.HdfsConstants.SafeModeAction;
import org.apache.hadoop.security.UserGroupInformation;
import watchfloor.stack.ShortTask;

/**
 * The command with which the local stack sets HDFS up, as the principal of its servers. It runs as a short-lived process
 * of its own.
 */
public final class HdfsCommand {
  private static final long POLL_MILLIS = 200;
  private static final FsPermission OWN = new FsPermission((short) 0700);
  private static final String OWNER = "accumulo";

  private HdfsCommand() {}

  public static void main(String[] args) {
    ShortTask.runAndHalt(() -> run(args));
  }

  private static void run(String[] args) throws Exception {
    Configuration hadoop = new Configuration();
    UserGroupInformation.setConfiguration(hadoop);
    UserGroupInformation.loginUserFromKeytab(args[0], args[1]);
    Path volume = new Path(args[3]);
    DistributedFileSystem files = (DistributedFileSystem) volume.getFileSystem(hadoop);
    if (!args[2].equals("prepare")) {
      throw new IllegalArgumentException("prepare VOLUME DATANODES SECONDS new|old");
    }
    int datanodes = Integer.parseInt(args[4]);
    await(files, datanodes, System.nanoTime() + Long.parseLong(args[5]) * 1_000_000_000L);
    makeVolume(files, volume, args[6].equals("new"));
    Policies.enable(files, datanodes);
  }

  /** Returns when all DataNodes are live and the NameNode lets files be written. Throws an exception at the deadline. */
  private static void await(DistributedFileSystem files, int wanted, long deadline) throws Exception {
    while (true) {
      int live = files.getDataNodeStats(DatanodeReportType.LIVE).length;
      boolean safe = files.setSafeMode(SafeModeAction.SAFEMODE_GET);
      if (live >= wanted && !safe) {
        return;
      }
      if (System.nanoTime() > deadline) {
        String mode = safe ? ", and it is in safe mode: blocks are missing" : "";
        throw new IllegalStateException("HDFS has " + live + " of " + wanted + " DataNodes" + mode);
      }
      Thread.sleep(POLL_MILLIS);
    }
  }

  /** Makes the folder of Accumulo's volume, anew if an interrupted start has left one without data. */
  private static void makeVolume(DistributedFileSystem files, Path volume, boolean fresh) throws IOException {
    if (fresh && files.exists(new Path(volume, "wal"))) {
      throw new IllegalStateException(volume + " holds data of an Accumulo that conf/stack.json does not know");
    }
    if (fresh) {
      files.delete(volume, true);
    }
    if (!files.exists(volume)) {
      files.mkdirs(volume, OWN);
      files.setOwner(volume, OWNER, OWNER);
    }
    Policies.requireReplication(files, volume);
  }
}

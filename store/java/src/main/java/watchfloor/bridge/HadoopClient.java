package watchfloor.bridge;

import java.io.File;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import watchfloor.stack.files.LocalFiles;

/** Hadoop's configuration of a client, and its login at HDFS. Whoever opens files of the store gets it here. */
public final class HadoopClient {
  private static final String[] FILES = {"core-site.xml", "hdfs-site.xml"};
  private static Configuration configuration = withLocalFiles(new Configuration());
  private static Credentials login;

  private HadoopClient() {}

  /**
   * Says how this JVM reaches Hadoop's file systems. It logs in when it first opens one that asks for Kerberos.
   *
   * @param folder the folder of Hadoop's configuration; null for none
   * @param credentials the principal that opens files; null for the one that the JVM has logged in, or its ticket
   */
  public static synchronized void use(String folder, Credentials credentials) {
    Configuration made = new Configuration();
    for (String name : folder == null ? new String[0] : FILES) {
      File file = new File(folder, name);
      if (file.exists()) {
        made.addResource(new Path(file.toURI()));
      }
    }
    configuration = withLocalFiles(made);
    login = credentials;
  }

  /** Returns the configuration, after the login at Kerberos if {@code path} is on a file system that asks for it. */
  public static synchronized Configuration configuration(String path) {
    if (login != null && !path.startsWith("file:") && asksForKerberos()) {
      login.logIn();
      login = null;
    }
    return configuration;
  }

  /** Returns a copy of the configuration for a login, which adds to it. */
  static synchronized Configuration copy() {
    return new Configuration(configuration);
  }

  private static boolean asksForKerberos() {
    return "kerberos".equals(configuration.get("hadoop.security.authentication"));
  }

  /**
   * Hadoop's default local file system writes a file of checksums beside each file, and its raw one syncs no file that
   * is appended to. Accumulo's client gets this one too, from Hadoop's cache.
   */
  private static Configuration withLocalFiles(Configuration made) {
    made.setClass("fs.file.impl", LocalFiles.class, FileSystem.class);
    return made;
  }
}

package watchfloor.bridge.sink;

import java.io.FileNotFoundException;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.file.Files;
import java.nio.file.Paths;
import java.util.Arrays;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import watchfloor.bridge.Connection;
import watchfloor.bridge.HadoopClient;
import watchfloor.bridge.StoreException;

/** Operations on a file system that the servers read too: on folders of files for bulk imports, and on our jar there. */
public final class BulkFiles {
  /** A table that each instance of Watchfloor has. */
  private static final String TABLE = "watchfloor.sources";

  private BulkFiles() {}

  /** Returns the file system of a path. Throws a StoreException if there is none. */
  public static FileSystem system(String path) {
    try {
      Configuration hadoop = HadoopClient.configuration(path);
      if (path.startsWith("file:")) {
        // On the local stack servers and workers run as one user, and nobody else reads the files.
        hadoop = new Configuration(hadoop);
        hadoop.set("fs.permissions.umask-mode", "077");
      }
      return new Path(path).getFileSystem(hadoop);
    } catch (IOException | RuntimeException e) {
      throw new StoreException("folder " + path + ": no such file system: " + e.getMessage(), e);
    }
  }

  /**
   * Returns the first of the instance's volumes. The settings of a table name it too, which its reader may see, while
   * the instance's are an administrator's.
   */
  public static String volume(Connection connection) {
    try {
      return connection.client().tableOperations().getConfiguration(TABLE).get("instance.volumes").split(",")[0];
    } catch (Exception e) {
      throw new StoreException("the store does not tell its instance.volumes: " + e.getMessage(), e);
    }
  }

  /** Returns the names of the entries of a folder; none if the folder does not exist. */
  public static String[] names(String folder) {
    try {
      return Arrays.stream(system(folder).listStatus(new Path(folder)))
          .map(status -> status.getPath().getName())
          .toArray(String[]::new);
    } catch (FileNotFoundException e) {
      return new String[0];
    } catch (IOException e) {
      throw new StoreException("folder " + folder + " cannot be listed: " + e.getMessage(), e);
    }
  }

  /** Copies a file of this host to a path in one step: who finds the path finds all of the file. */
  public static void put(String local, String path) {
    Path unfinished = new Path(path + ".new");
    try {
      FileSystem system = system(path);
      try (InputStream from = Files.newInputStream(Paths.get(local)); OutputStream to = system.create(unfinished, true)) {
        from.transferTo(to);
      }
      if (!system.rename(unfinished, new Path(path)) && !system.exists(new Path(path))) {
        throw new IOException("it cannot be renamed from " + unfinished);
      }
    } catch (IOException e) {
      throw new StoreException("file " + path + " cannot be written: " + e.getMessage(), e);
    }
  }

  /** Returns whether a path exists. */
  public static boolean exists(String path) {
    try {
      return system(path).exists(new Path(path));
    } catch (IOException e) {
      throw new StoreException("file " + path + " cannot be looked at: " + e.getMessage(), e);
    }
  }

  /** Removes a folder and all that is in it. */
  public static void remove(String folder) {
    try {
      system(folder).delete(new Path(folder), true);
    } catch (IOException e) {
      throw new StoreException("folder " + folder + " cannot be removed: " + e.getMessage(), e);
    }
  }
}

package watchfloor.stack.files;

import java.io.IOException;
import org.apache.accumulo.core.conf.AccumuloConfiguration;
import org.apache.accumulo.server.fs.VolumeManager;
import org.apache.accumulo.server.manager.recovery.HadoopLogCloser;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.LocalFileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.RawLocalFileSystem;

/**
 * Closes the write-ahead logs of a dead server before they are read for recovery, on the local file system too.
 * Accumulo's own class does so on HDFS only, by recovering the lease of the file.
 */
public final class LocalLogCloser extends HadoopLogCloser {
  @Override
  public long close(AccumuloConfiguration accumulo, Configuration hadoop, VolumeManager volumes, Path log)
      throws IOException {
    FileSystem files = volumes.getFileSystemByPath(log);
    if (files instanceof LocalFiles) {
      ((LocalFiles) files).closeLog(log);
      return 0;
    }
    if (files instanceof LocalFileSystem || files instanceof RawLocalFileSystem) {
      throw new IllegalStateException(
          files.getClass().getName() + " cannot close logs: set fs.file.impl to " + LocalFiles.class.getName());
    }
    return super.close(accumulo, hadoop, volumes, log);
  }
}

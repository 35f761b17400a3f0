package watchfloor.stack.files;

import java.io.FileNotFoundException;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFileAttributes;
import java.nio.file.attribute.PosixFilePermission;
import java.util.EnumSet;
import java.util.Set;

/**
 * Closes write-ahead logs against the processes that still have them open for writing. A closed log is a file that
 * nobody has permission to write.
 *
 * <p>The mark is part of the file: it needs no name of its own, goes where the file goes, and is gone when the garbage
 * collector deletes the log, of which it leaves nothing. The system does not enforce permissions on files that are open,
 * so writers look. The mark is not forced to the disk: no writer outlives the operating system that keeps it.
 */
final class LogFence {
  private static final Set<PosixFilePermission> WRITE =
      EnumSet.of(
          PosixFilePermission.OWNER_WRITE, PosixFilePermission.GROUP_WRITE, PosixFilePermission.OTHERS_WRITE);

  private LogFence() {}

  /** Closes a log. What is written from now on must not be acknowledged. A log may be closed several times. */
  static void close(Path log) throws IOException {
    try {
      Set<PosixFilePermission> permissions = EnumSet.copyOf(read(log));
      permissions.removeAll(WRITE);
      Files.setPosixFilePermissions(log, permissions);
    } catch (NoSuchFileException e) {
      throw new FileNotFoundException(log.toString());
    }
  }

  /** Throws an IOException if a log is closed, or deleted, which happens only to closed logs and to unused ones. */
  static void requireOpen(Path log) throws IOException {
    try {
      if (read(log).contains(PosixFilePermission.OWNER_WRITE)) {
        return;
      }
    } catch (NoSuchFileException e) {
      throw new IOException("the write-ahead log " + log + " was deleted: this server counts as dead");
    }
    throw new IOException("the write-ahead log " + log + " was closed for recovery: this server counts as dead");
  }

  private static Set<PosixFilePermission> read(Path log) throws IOException {
    return Files.readAttributes(log, PosixFileAttributes.class).permissions();
  }
}

package watchfloor.stack.files;

import java.io.IOException;
import java.nio.file.Path;

/** Tells whether the tablet server that writes a log is alive for the rest of the cluster. */
interface LogOwner {
  /** Throws an IOException unless the server of a log has made it known, and held its lock at a moment after that. */
  void requireLock(Path log) throws IOException;
}

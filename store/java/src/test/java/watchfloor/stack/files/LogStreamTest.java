package watchfloor.stack.files;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.FileNotFoundException;
import java.io.IOException;
import java.net.URI;
import java.nio.file.Files;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.UUID;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.accumulo.server.fs.VolumeManager;
import org.apache.accumulo.server.fs.VolumeManagerImpl;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FSDataOutputStream;
import org.apache.hadoop.fs.Path;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class LogStreamTest {
  private static final int RACES = 100;

  @TempDir java.nio.file.Path volume;
  private final AtomicInteger asked = new AtomicInteger();
  private volatile boolean alive = true;
  private final LocalFiles files = new LocalFiles(this::requireLock);

  @BeforeEach
  void open() throws IOException {
    files.initialize(URI.create("file:///"), new Configuration());
  }

  private void requireLock(java.nio.file.Path log) throws IOException {
    asked.incrementAndGet();
    if (!alive) {
      throw new IOException("no lock");
    }
  }

  private Path log() {
    return new Path(volume.resolve("wal/host+1/" + UUID.randomUUID()).toString());
  }

  /** Writes a log's header, as a server does before it makes the log known. */
  private FSDataOutputStream begin(Path log) throws IOException {
    FSDataOutputStream out = files.create(log);
    out.write(0);
    out.hsync();
    return out;
  }

  private static void append(FSDataOutputStream out) throws IOException {
    out.write(1);
    out.hflush();
  }

  @Test
  void aLogThatIsClosedForRecoveryTakesNothingMore() throws IOException {
    Path log = log();
    try (FSDataOutputStream out = begin(log)) {
      append(out);
      files.closeLog(log);
      assertThrows(IOException.class, () -> append(out));
      assertThrows(IOException.class, out::hsync);
      files.closeLog(log);
    }
    Path other = log();
    try (FSDataOutputStream out = begin(other)) {
      append(out);
    }
  }

  @Test
  void aLogThatWasDeletedTakesNothingMore() throws IOException {
    Path log = log();
    try (FSDataOutputStream out = begin(log)) {
      append(out);
      assertTrue(files.delete(log, false));
      assertThrows(IOException.class, () -> append(out));
    }
  }

  @Test
  void aClosedLogCanBeReadAndDeletedAndLeavesNothing() throws IOException {
    Path log = log();
    begin(log).close();
    files.closeLog(log);
    try (var in = files.open(log)) {
      assertEquals(0, in.read());
    }
    assertTrue(files.delete(log, true));
    try (var left = Files.list(volume.resolve("wal/host+1"))) {
      assertEquals(0, left.count());
    }
  }

  @Test
  void aServerWithoutItsLockCannotBeginALog() throws IOException {
    alive = false;
    try (FSDataOutputStream out = begin(log())) {
      assertThrows(IOException.class, () -> append(out));
      assertThrows(IOException.class, () -> append(out));
    }
  }

  @Test
  void theLockIsLookedAtOnceForEachLog() throws IOException {
    try (FSDataOutputStream out = begin(log())) {
      assertEquals(0, asked.get(), "the header is written before the log is known");
      for (int i = 0; i < 3; i++) {
        append(out);
      }
    }
    assertEquals(1, asked.get());
  }

  @Test
  void onlyLogsAreFenced() throws IOException {
    Path file = new Path(volume.resolve("tables/1/default_tablet/F1.rf_tmp").toString());
    try (FSDataOutputStream out = files.create(file)) {
      append(out);
      files.closeLog(file);
      append(out);
    }
    assertEquals(0, asked.get());
  }

  /** Whatever the moment at which a log is closed: what was acknowledged before or after is read afterwards. */
  @Test
  void nothingIsAcknowledgedThatRecoveryDoesNotRead() throws Exception {
    Random random = new Random(1);
    int raced = 0;
    for (int i = 0; i < RACES; i++) {
      Path log = log();
      List<Integer> acknowledged = new ArrayList<>();
      FSDataOutputStream out = begin(log);
      Thread writer =
          new Thread(
              () -> {
                try {
                  for (int n = 1; ; n++) {
                    out.write(n % 128);
                    out.hflush();
                    acknowledged.add(n % 128);
                  }
                } catch (IOException e) {
                  // The log was closed.
                }
              });
      writer.start();
      Thread.sleep(0, random.nextInt(999_999));
      files.closeLog(log);
      byte[] read = Files.readAllBytes(files.pathToFile(log).toPath());
      writer.join();
      out.close();
      assertTrue(acknowledged.size() < read.length, acknowledged.size() + " acknowledged, " + read.length + " read");
      for (int n = 0; n < acknowledged.size(); n++) {
        assertEquals(acknowledged.get(n).byteValue(), read[n + 1]);
      }
      raced += acknowledged.isEmpty() ? 0 : 1;
    }
    assertTrue(raced > RACES / 10, raced + " logs had entries when they were closed");
  }

  @Test
  void aMissingLogIsWhatTheManagerExpects() {
    assertThrows(FileNotFoundException.class, () -> files.closeLog(log()));
  }

  @Test
  void aFileSystemThatCannotCloseLogsIsRefused() throws IOException {
    VolumeManager hadoopsOwn = VolumeManagerImpl.getLocalForTesting(volume.toString());
    IllegalStateException refused =
        assertThrows(
            IllegalStateException.class,
            () -> new LocalLogCloser().close(null, new Configuration(), hadoopsOwn, log()));
    assertTrue(refused.getMessage().contains(LocalFiles.class.getName()));
    assertFalse(Files.exists(volume.resolve("wal")));
  }
}

package watchfloor.stack.files;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.IOException;
import java.net.URI;
import java.nio.channels.ClosedChannelException;
import java.nio.file.Files;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FSDataOutputStream;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.Syncable;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class LocalFilesTest {
  @TempDir java.nio.file.Path folder;
  private final LocalFiles files = new LocalFiles();

  @BeforeEach
  void open() throws IOException {
    files.initialize(URI.create("file:///"), new Configuration());
  }

  @Test
  void whatIsSyncedIsInTheFile() throws IOException {
    java.nio.file.Path file = folder.resolve("log");
    try (FSDataOutputStream out = files.create(new Path(file.toString()))) {
      assertTrue(out.hasCapability("hsync"), "Accumulo refuses a file system that cannot sync");
      out.write(new byte[] {1, 2, 3});
      out.write(4);
      out.hsync();
      assertArrayEquals(new byte[] {1, 2, 3, 4}, Files.readAllBytes(file));
    }
  }

  @Test
  void whatIsAppendedCanBeSynced() throws IOException {
    Path file = new Path(folder.resolve("appended").toString());
    files.create(file).close();
    try (FSDataOutputStream out = files.append(file)) {
      assertTrue(out.getWrappedStream() instanceof Syncable, "FSDataOutputStream.hsync does nothing otherwise");
      out.write(1);
      out.hsync();
      assertArrayEquals(new byte[] {1}, Files.readAllBytes(folder.resolve("appended")));
    }
  }

  @Test
  void writingToAClosedFileIsWhatAccumuloRetries() throws IOException {
    FSDataOutputStream out = files.create(new Path(folder.resolve("log").toString()));
    out.close();
    assertThrows(
        ClosedChannelException.class,
        () -> {
          out.write(1);
          out.flush();
        });
  }

  @Test
  void aFullDiskIsAnExceptionAndNoError() throws IOException {
    assumeTrue(Files.exists(java.nio.file.Path.of("/dev/full")), "a Linux device");
    FSDataOutputStream out = files.append(new Path("/dev/full"));
    out.write(1);
    IOException full = assertThrows(IOException.class, out::flush);
    assertEquals("No space left on device", full.getMessage());
    assertThrows(IOException.class, out::close);
  }
}

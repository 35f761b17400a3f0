package watchfloor.stack.files;

import com.github.luben.zstd.ZstdInputStream;
import com.github.luben.zstd.ZstdOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import org.apache.hadoop.io.compress.CompressionCodec;
import org.apache.hadoop.io.compress.CompressionInputStream;
import org.apache.hadoop.io.compress.CompressionOutputStream;
import org.apache.hadoop.io.compress.Compressor;
import org.apache.hadoop.io.compress.Decompressor;

/**
 * Zstandard for files of Accumulo where Hadoop's native library is not installed, by a library that comes as a jar. The
 * frames are the same, so that each reads what the other has written.
 *
 * <p>It is in use where the system property {@code io.compression.codec.zstd.class} names it. Its streams need no
 * compressors, so there are none.
 */
public final class ZstdCodec implements CompressionCodec {
  private static final int LEVEL = 3;

  @Override
  public CompressionOutputStream createOutputStream(OutputStream out) throws IOException {
    return new Output(out);
  }

  @Override
  public CompressionOutputStream createOutputStream(OutputStream out, Compressor compressor) throws IOException {
    return new Output(out);
  }

  @Override
  public CompressionInputStream createInputStream(InputStream in) throws IOException {
    return new Input(in);
  }

  @Override
  public CompressionInputStream createInputStream(InputStream in, Decompressor decompressor) throws IOException {
    return new Input(in);
  }

  @Override
  public Class<? extends Compressor> getCompressorType() {
    return null;
  }

  @Override
  public Compressor createCompressor() {
    return null;
  }

  @Override
  public Class<? extends Decompressor> getDecompressorType() {
    return null;
  }

  @Override
  public Decompressor createDecompressor() {
    return null;
  }

  @Override
  public String getDefaultExtension() {
    return ".zst";
  }

  private static final class Output extends CompressionOutputStream {
    private ZstdOutputStream frame;

    Output(OutputStream out) {
      super(out);
    }

    @Override
    public void write(int one) throws IOException {
      write(new byte[] {(byte) one}, 0, 1);
    }

    @Override
    public void write(byte[] bytes, int offset, int length) throws IOException {
      if (frame == null) {
        frame = new ZstdOutputStream(new Unclosed(out), LEVEL);
      }
      frame.write(bytes, offset, length);
    }

    /** Ends the frame. What is written next begins another one. */
    @Override
    public void finish() throws IOException {
      if (frame != null) {
        frame.close();
        frame = null;
      }
    }

    @Override
    public void resetState() {}
  }

  /** Stays open when the frame in it ends. */
  private static final class Unclosed extends java.io.FilterOutputStream {
    Unclosed(OutputStream out) {
      super(out);
    }

    @Override
    public void write(byte[] bytes, int offset, int length) throws IOException {
      out.write(bytes, offset, length);
    }

    @Override
    public void close() throws IOException {
      flush();
    }
  }

  private static final class Input extends CompressionInputStream {
    private ZstdInputStream frames;

    Input(InputStream in) throws IOException {
      super(in);
      frames = new ZstdInputStream(in);
    }

    @Override
    public int read() throws IOException {
      return frames.read();
    }

    @Override
    public int read(byte[] bytes, int offset, int length) throws IOException {
      return frames.read(bytes, offset, length);
    }

    @Override
    public void resetState() throws IOException {
      frames = new ZstdInputStream(in);
    }

    @Override
    public void close() throws IOException {
      frames.close();
      super.close();
    }
  }
}

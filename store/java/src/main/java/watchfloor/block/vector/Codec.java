package watchfloor.block.vector;

import com.github.luben.zstd.ZstdDecompressCtx;
import com.github.luben.zstd.ZstdException;
import net.jpountz.lz4.LZ4Exception;
import net.jpountz.lz4.LZ4Factory;
import net.jpountz.lz4.LZ4SafeDecompressor;

/** The codecs that compress payloads of vectors. */
public final class Codec {
  public static final int NONE = 0;
  public static final int ZSTD = 1;
  /** A raw LZ4 block, without a frame. */
  public static final int LZ4 = 2;

  /** A context takes some 100 KB of native memory. There is one per thread, as nobody would close one per iterator. */
  private static final ThreadLocal<ZstdDecompressCtx> CONTEXT = ThreadLocal.withInitial(ZstdDecompressCtx::new);

  /** A separate holder class, so that the library is loaded only when a vector needs it. */
  private static final class Lz4 {
    static final LZ4SafeDecompressor DECOMPRESSOR = LZ4Factory.fastestInstance().safeDecompressor();
  }

  private Codec() {}

  /**
   * Decompresses to the beginning of {@code into} and returns the number of bytes written; -1 if the data is damaged or
   * does not fit.
   */
  public static int decompress(int codec, byte[] bytes, int from, int length, byte[] into, int room) {
    try {
      return codec == ZSTD
          ? CONTEXT.get().decompressByteArray(into, 0, room, bytes, from, length)
          : Lz4.DECOMPRESSOR.decompress(bytes, from, length, into, 0, room);
    } catch (ZstdException | LZ4Exception e) {
      return -1;
    }
  }
}

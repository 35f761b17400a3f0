package watchfloor.bridge;

import java.nio.ByteOrder;
import java.util.Arrays;
import java.util.List;
import org.apache.accumulo.core.data.ByteSequence;
import org.apache.arrow.memory.ArrowBuf;
import org.apache.arrow.memory.BufferAllocator;
import org.apache.arrow.vector.VarBinaryVector;
import org.apache.arrow.vector.ipc.message.ArrowFieldNode;

/**
 * A column of a result, gathered in arrays and made a vector in one go. Rows are set in order; those passed over are
 * null. It is used again for the next batch.
 */
final class ByteBuilder {
  private final String name;
  private byte[] data = new byte[1024];
  private int[] starts = new int[256];
  private byte[] validity = new byte[32];
  private int rows;
  private int nulls;

  ByteBuilder(String name) {
    this.name = name;
  }

  void set(int row, ByteSequence value) {
    set(row, value.getBackingArray(), value.offset(), value.length());
  }

  void set(int row, byte[] bytes, int offset, int length) {
    skipTo(row);
    int end = starts[rows];
    if (data.length - end < length) {
      data = Arrays.copyOf(data, (int) Math.min(Integer.MAX_VALUE - 8L, Math.max(data.length * 2L, end + (long) length)));
    }
    System.arraycopy(bytes, offset, data, end, length);
    validity[rows >> 3] |= (byte) (1 << (rows & 7));
    starts[++rows] = end + length;
  }

  private void skipTo(int row) {
    if (row + 2 > starts.length) {
      starts = Arrays.copyOf(starts, Math.max(starts.length * 2, row + 2));
      validity = Arrays.copyOf(validity, starts.length / 8 + 1);
    }
    while (rows < row) {
      starts[rows + 1] = starts[rows];
      rows++;
      nulls++;
    }
  }

  /** The vector of the first {@code count} rows, and a fresh start. */
  VarBinaryVector take(int count, BufferAllocator allocator) {
    skipTo(count);
    int validityBytes = (count + 7) / 8;
    int offsetBytes = (count + 1) * Integer.BYTES;
    VarBinaryVector vector = new VarBinaryVector(name, allocator);
    try (ArrowBuf bits = allocator.buffer(validityBytes);
        ArrowBuf offsets = allocator.buffer(offsetBytes);
        ArrowBuf bytes = allocator.buffer(starts[count])) {
      bits.setBytes(0, validity, 0, validityBytes);
      bits.writerIndex(validityBytes);
      offsets.nioBuffer(0, offsetBytes).order(ByteOrder.LITTLE_ENDIAN).asIntBuffer().put(starts, 0, count + 1);
      offsets.writerIndex(offsetBytes);
      bytes.setBytes(0, data, 0, starts[count]);
      bytes.writerIndex(starts[count]);
      vector.loadFieldBuffers(new ArrowFieldNode(count, nulls), List.of(bits, offsets, bytes));
    } catch (RuntimeException e) {
      vector.close();
      throw e;
    }
    Arrays.fill(validity, (byte) 0);
    rows = 0;
    nulls = 0;
    return vector;
  }
}

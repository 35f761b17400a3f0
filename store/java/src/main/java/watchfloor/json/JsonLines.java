package watchfloor.json;

import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.List;
import org.apache.arrow.c.ArrowArray;
import org.apache.arrow.c.ArrowSchema;
import org.apache.arrow.c.Data;
import org.apache.arrow.memory.ArrowBuf;
import org.apache.arrow.vector.BaseVariableWidthVector;
import org.apache.arrow.vector.FieldVector;
import org.apache.arrow.vector.VectorSchemaRoot;
import watchfloor.bridge.columns.ArrowMemory;
import watchfloor.bridge.columns.Batch;
import watchfloor.bridge.columns.ColumnBuilder;
import watchfloor.bridge.columns.NumberBuilder;

/** Turns lines of JSON objects that Python has read into record batches. Not for use by several threads at once. */
public final class JsonLines {
  private final ColumnBuilder[] columns;
  private final NumberBuilder odd = new NumberBuilder("odd", "bool");
  private final LineReader reader;
  private byte[] data = new byte[0];
  private int[] starts = new int[0];

  /** Takes the arguments of {@link LineReader}'s constructor, with the columns' names in place of their sinks. */
  public JsonLines(String[] columns, String[] types, String[] names, int[] fields, int power) {
    this.columns = ColumnBuilder.all(columns, types);
    reader = new LineReader(types, this.columns, names, fields, power);
  }

  /**
   * Reads a batch with one column, each value of which begins with a line, into a batch with a row per line. It has the
   * columns, and {@code odd}: true where a line was not taken and its values must be ignored, else null.
   */
  public void read(long linesArrayAddress, long linesSchemaAddress, long arrayAddress, long schemaAddress) {
    int count = copy(linesArrayAddress, linesSchemaAddress);
    reader.begin();
    for (int row = 0; row < count; row++) {
      if (!reader.read(data, starts[row], row)) {
        odd.number(row, 1);
      }
    }
    List<FieldVector> vectors = new ArrayList<>();
    for (ColumnBuilder column : columns) {
      vectors.add(column.take(count, ArrowMemory.ALLOCATOR));
    }
    vectors.add(odd.take(count, ArrowMemory.ALLOCATOR));
    try (VectorSchemaRoot root = VectorSchemaRoot.of(vectors.toArray(FieldVector[]::new));
        ArrowArray array = ArrowArray.wrap(arrayAddress);
        ArrowSchema schema = ArrowSchema.wrap(schemaAddress)) {
      root.setRowCount(count);
      Data.exportVectorSchemaRoot(ArrowMemory.ALLOCATOR, root, null, array, schema);
    }
  }

  /** Copies the lines into arrays, as arrays are read several times as fast as vectors. Returns the number of lines. */
  private int copy(long arrayAddress, long schemaAddress) {
    try (Batch batch = new Batch(arrayAddress, schemaAddress)) {
      int count = batch.rows();
      if (starts.length < count + 1) {
        starts = new int[count + 1];
      }
      BaseVariableWidthVector lines = (BaseVariableWidthVector) batch.root().getVector(0);
      lines
          .getOffsetBuffer()
          .nioBuffer(0, (count + 1) * Integer.BYTES)
          .order(ByteOrder.LITTLE_ENDIAN)
          .asIntBuffer()
          .get(starts, 0, count + 1);
      int size = starts[count];
      if (data.length <= size + LineReader.SPARE) {
        data = new byte[size + 1 + LineReader.SPARE];
      }
      ArrowBuf from = lines.getDataBuffer();
      from.getBytes(0, data, 0, size);
      data[size] = LineReader.END;
      return count;
    }
  }
}

package watchfloor.bridge.columns;

import org.apache.arrow.c.ArrowArray;
import org.apache.arrow.c.ArrowSchema;
import org.apache.arrow.c.CDataDictionaryProvider;
import org.apache.arrow.c.Data;
import org.apache.arrow.vector.FieldVector;
import org.apache.arrow.vector.VectorSchemaRoot;

/** A record batch from Python. The constructor takes it over; {@link #close} releases it. */
public final class Batch implements AutoCloseable {
  private final CDataDictionaryProvider dictionaries = new CDataDictionaryProvider();
  private final VectorSchemaRoot root;

  public Batch(long arrayAddress, long schemaAddress) {
    try (ArrowArray array = ArrowArray.wrap(arrayAddress);
        ArrowSchema schema = ArrowSchema.wrap(schemaAddress)) {
      root = Data.importVectorSchemaRoot(ArrowMemory.ALLOCATOR, array, schema, dictionaries);
    } catch (RuntimeException e) {
      dictionaries.close();
      throw e;
    }
  }

  public int rows() {
    return root.getRowCount();
  }

  public VectorSchemaRoot root() {
    return root;
  }

  ByteColumn column(FieldVector vector) {
    return ByteColumn.of(vector, dictionaries);
  }

  /** Returns the column of a name; null if there is none. */
  public ByteColumn column(String name) {
    FieldVector vector = root.getVector(name);
    return vector == null ? null : column(vector);
  }

  @Override
  public void close() {
    root.close();
    dictionaries.close();
  }
}

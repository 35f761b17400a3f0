package watchfloor.bridge.columns;

import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Map;
import org.apache.arrow.vector.FieldVector;

/**
 * A batch in wide form: the first column is the row ID. Each further column has a cell for each of its values that is
 * not null. The metadata of its field holds the cells' {@code family} (by default empty), {@code qualifier} (by default
 * the column's name) and {@code visibility}.
 */
public final class WideBatch {
  public final ByteColumn row;
  public final ByteColumn[] cells;
  public final byte[][] families;
  public final byte[][] qualifiers;
  public final byte[][] labels;

  public WideBatch(Batch batch) {
    List<FieldVector> vectors = batch.root().getFieldVectors();
    row = batch.column(vectors.get(0));
    int width = vectors.size() - 1;
    cells = new ByteColumn[width];
    families = new byte[width][];
    qualifiers = new byte[width][];
    labels = new byte[width][];
    for (int i = 0; i < width; i++) {
      FieldVector vector = vectors.get(i + 1);
      Map<String, String> metadata = vector.getField().getMetadata();
      cells[i] = batch.column(vector);
      families[i] = metadata.getOrDefault("family", "").getBytes(StandardCharsets.UTF_8);
      qualifiers[i] = metadata.getOrDefault("qualifier", vector.getName()).getBytes(StandardCharsets.UTF_8);
      labels[i] = metadata.getOrDefault("visibility", "").getBytes(StandardCharsets.UTF_8);
    }
  }
}

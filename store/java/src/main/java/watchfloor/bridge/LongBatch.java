package watchfloor.bridge;

/** Long form: a row per entry with the columns row, family, qualifier, visibility and value; only row must be there. */
final class LongBatch {
  private static final byte[] EMPTY = new byte[0];

  final ByteColumn row;
  /** Null if there is no such column, as in all of these. */
  final ByteColumn label;
  private final ByteColumn family;
  private final ByteColumn qualifier;
  private final ByteColumn value;

  LongBatch(Batch batch) {
    row = batch.column("row");
    if (row == null) {
      throw new IllegalArgumentException("the batch has no column named row");
    }
    family = batch.column("family");
    qualifier = batch.column("qualifier");
    label = batch.column("visibility");
    value = batch.column("value");
  }

  byte[] family(int r) {
    return family == null ? EMPTY : family.get(r);
  }

  byte[] qualifier(int r) {
    return qualifier == null ? EMPTY : qualifier.get(r);
  }

  byte[] label(int r) {
    return label == null ? EMPTY : label.get(r);
  }

  byte[] value(int r) {
    return value == null ? EMPTY : value.get(r);
  }
}

package watchfloor.bridge.columns;

/**
 * A batch in long form: a row per entry with the columns row, family, qualifier, visibility and value. Only row is
 * required.
 */
public final class LongBatch {
  private static final byte[] EMPTY = new byte[0];

  public final ByteColumn row;
  /** The visibilities; null if the batch has no such column. The columns below may be null too. */
  public final ByteColumn label;
  private final ByteColumn family;
  private final ByteColumn qualifier;
  private final ByteColumn value;

  public LongBatch(Batch batch) {
    row = batch.column("row");
    if (row == null) {
      throw new IllegalArgumentException("the batch has no column named row");
    }
    family = batch.column("family");
    qualifier = batch.column("qualifier");
    label = batch.column("visibility");
    value = batch.column("value");
  }

  public byte[] family(int r) {
    return family == null ? EMPTY : family.get(r);
  }

  public byte[] qualifier(int r) {
    return qualifier == null ? EMPTY : qualifier.get(r);
  }

  public byte[] label(int r) {
    return label == null ? EMPTY : label.get(r);
  }

  public byte[] value(int r) {
    return value == null ? EMPTY : value.get(r);
  }
}

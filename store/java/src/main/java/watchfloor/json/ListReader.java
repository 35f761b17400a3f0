package watchfloor.json;

/** Reads lists of values of one type. */
final class ListReader extends ValueReader {
  private final ValueSink lists;
  private final ValueReader element;
  private int elements;

  ListReader(ValueSink lists, ValueReader element) {
    this.lists = lists;
    this.element = element;
  }

  @Override
  void begin() {
    elements = 0;
  }

  @Override
  int read(byte[] data, int start, int row) {
    if (data[start] != '[') {
      return ODD;
    }
    int first = elements;
    int at = LineReader.blanks(data, start + 1);
    boolean more = data[at] != ']';
    while (more) {
      at = LineReader.isNull(data, at) ? at + LineReader.NULL.length : element.read(data, at, elements);
      if (at == ODD) {
        return ODD;
      }
      elements++;
      at = LineReader.blanks(data, at);
      more = data[at] == ',';
      if (more) {
        at = LineReader.blanks(data, at + 1);
      }
    }
    if (data[at] != ']') {
      return ODD;
    }
    lists.list(row, first, elements);
    return at + 1;
  }
}

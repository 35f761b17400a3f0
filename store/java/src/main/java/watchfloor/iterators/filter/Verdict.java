package watchfloor.iterators.filter;

/** The share of some values that satisfy a condition, as far as it is known: none, all, or possibly some. */
public enum Verdict {
  NONE,
  SOME,
  ALL;

  /** Returns the verdict on the negated condition. */
  public Verdict not() {
    return this == NONE ? ALL : this == ALL ? NONE : SOME;
  }
}

package watchfloor.iterators.filter;

/** How many of some values satisfy a condition, as far as it is known. */
public enum Verdict {
  NONE,
  SOME,
  ALL;

  public Verdict not() {
    return this == NONE ? ALL : this == ALL ? NONE : SOME;
  }
}

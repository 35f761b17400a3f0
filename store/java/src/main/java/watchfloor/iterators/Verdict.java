package watchfloor.iterators;

/** How many of some values satisfy a condition, as far as it is known. */
enum Verdict {
  NONE,
  SOME,
  ALL;

  Verdict not() {
    return this == NONE ? ALL : this == ALL ? NONE : SOME;
  }
}

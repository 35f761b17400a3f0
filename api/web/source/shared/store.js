/** A value that tells its listeners when it changes. */

/**
 * @template T
 * @param {T} initial
 */
export function createStore(initial) {
  let state = initial;
  const listeners = new Set();
  return {
    get: () => state,
    /** Merges `changes` into the state and tells all listeners what changed. */
    update(changes) {
      const changed = Object.keys(changes).filter((name) => !same(state[name], changes[name]));
      if (!changed.length) return;
      state = { ...state, ...changes };
      for (const listener of [...listeners]) listener(state, new Set(changed));
    },
    subscribe(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
}

function same(one, other) {
  return one === other || JSON.stringify(one) === JSON.stringify(other);
}

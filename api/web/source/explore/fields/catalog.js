/** The sources and their fields, as the service describes them. */

import { get } from "../../shared/api.js";

/**
 * @typedef {{
 *   name: string, type: string, isList: boolean, indexed: boolean, indexes: {[source: string]: Index[]}, ecs: string,
 *   sources: string[],
 * }} Field
 * The type of a list is that of its elements. A field is `indexed` if it is so in one of its sources at least.
 * @typedef {{kind: "indexed"|"reversed"|"sighted", from?: string}} Index
 * An index with `from` has the events of that time and later, one without it has all.
 */

const LIST_OF = "list of ";

export function createCatalog() {
  let outlines = null;
  const sources = new Map();

  /** Returns the outlines of all sources; asks for them once, or again if `anew`. */
  async function listSources(anew = false) {
    if (!outlines || anew) outlines = get("/sources").then((answer) => answer.sources);
    try {
      return await outlines;
    } catch (error) {
      outlines = null;
      throw error;
    }
  }

  /** Returns the chosen names; none stands for those of all sources. */
  async function listNames(names) {
    return names.length ? names : (await listSources()).map((source) => source.name);
  }

  /** Returns a source with its fields, which the service calls columns. */
  async function readSource(name) {
    if (!sources.has(name)) sources.set(name, get(`/sources/${encodeURIComponent(name)}`));
    try {
      return await sources.get(name);
    } catch (error) {
      sources.delete(name);
      throw error;
    }
  }

  /**
   * Returns the fields of sources, in their order there; none stands for all sources.
   * @param {string[]} names
   * @returns {Promise<Field[]>}
   */
  async function readFields(names) {
    const chosen = await listNames(names);
    const merged = new Map();
    for (const source of await Promise.all(chosen.map(readSource))) {
      for (const { name, type, ecs = "", indexes } of source.columns) {
        const isList = type.startsWith(LIST_OF);
        const first = { name, type: type.replace(LIST_OF, ""), isList, indexed: false, indexes: {}, ecs, sources: [] };
        const field = merged.get(name) ?? first;
        field.sources.push(source.name);
        field.indexes[source.name] = indexes;
        field.indexed ||= indexes.length > 0;
        merged.set(name, field);
      }
    }
    return [...merged.values()];
  }

  const readTimeField = async (name) => (await readSource(name)).time_field;

  return { listSources, listNames, readTimeField, readFields };
}

/** The sources and their fields, as the service describes them. */

import { get } from "../../shared/api.js";

/**
 * @typedef {{
 *   name: string, type: string, isList: boolean, indexed: boolean, ecs: string, sources: string[],
 * }} Field
 * The type of a list is that of its elements.
 */

export function createCatalog() {
  let outlines = null;
  const definitions = new Map();

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

  async function readDefinition(name) {
    if (!definitions.has(name)) {
      definitions.set(
        name,
        get(`/sources/${encodeURIComponent(name)}`).then((answer) => answer.definition),
      );
    }
    try {
      return await definitions.get(name);
    } catch (error) {
      definitions.delete(name);
      throw error;
    }
  }

  /**
   * Returns the fields of sources, the indexed ones first; none stands for all sources.
   * @param {string[]} names
   * @returns {Promise<Field[]>}
   */
  async function readFields(names) {
    const chosen = await listNames(names);
    const merged = new Map();
    for (const definition of await Promise.all(chosen.map(readDefinition))) {
      for (const given of definition.fields) {
        const field = describeField(given, definition.name);
        const known = merged.get(field.name);
        if (known) known.sources.push(definition.name);
        else merged.set(field.name, field);
      }
    }
    return [...merged.values()];
  }

  return { listSources, listNames, readDefinition, readFields };
}

/** @returns {Field} */
function describeField(given, source) {
  const isList = given.type === "list";
  return {
    name: given.name,
    type: isList ? given.items : given.type,
    isList,
    indexed: Boolean(given.indexed),
    ecs: given.ecs ?? "",
    sources: [source],
  };
}

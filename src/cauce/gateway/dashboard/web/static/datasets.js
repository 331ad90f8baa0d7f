// The service's datasets, requested once per page load.

import { getJson } from "./api.js";

/** @type {Promise<any[]> | null} */
let known = null;

/**
 * @typedef {{name: string, files: string[], delimiter: string, columns: string[]}} TableFiles
 * @typedef {{name: string, question: string, columns: string[], tables: string[], chart: any}} Query
 * @typedef {{name: string, choices: string[], help: string}} Parameter
 * @typedef {{name: string, tables: TableFiles[], queries: Query[], parameters: Parameter[], error: string}} Dataset
 */

/** @param {AbortSignal} signal @returns {Promise<Dataset[]>} */
export function datasets(signal) {
  known ??= getJson("/v1/datasets").then((found) => found.datasets);
  known.catch(() => (known = null));
  signal.throwIfAborted();
  return known;
}

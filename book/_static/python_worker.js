// Runs Python beside the page (reference/pages/live.py): gets { id, question }, gives back { id, told } or { id, broken }.
// book/_ext/live.py puts Pyodide and the package next to it, where they could be had.
import { loadPyodide } from "./python/pyodide.mjs";

const here = new URL("python/", self.location).href;

const starting = (async () => {
  const [python, packed] = await Promise.all([
    loadPyodide({ indexURL: here }),
    fetch(`${here}packages.zip`).then((file) => file.arrayBuffer()),
  ]);
  python.unpackArchive(packed, "zip");
  return python.pyimport("reference.pages.live").answer;
})();

self.onmessage = async ({ data: { id, question } }) => {
  try {
    const answer = await starting;
    self.postMessage({ id, told: question === undefined ? "" : answer(question) });
  } catch (error) {
    self.postMessage({ id, broken: String(error).trim().split("\n").at(-1) });
  }
};

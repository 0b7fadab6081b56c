// Preloaded in the tests' processes: threads that the code under test starts run as the published package
// has them, plain JavaScript (test/cli/_build-command.ts builds it anew when a source has changed). Node
// strips the types of some hundred files in every thread that is started from the sources: a third of what
// the suite cost. JavaScript itself, because what strips types is loaded for the first file that needs it.
import { registerHooks } from "node:module";
import { isMainThread } from "node:worker_threads";

const SOURCES = new URL("../src/", import.meta.url).href;
const BUILT = new URL("../build/test-command/src/", import.meta.url).href;

if (!isMainThread) {
  registerHooks({
    resolve(specifier, context, next) {
      const resolved = next(specifier, context);
      if (!resolved.url.startsWith(SOURCES) || !resolved.url.endsWith(".ts")) return resolved;
      const path = resolved.url.slice(SOURCES.length, -".ts".length);
      return { ...resolved, url: `${BUILT}${path}.js`, format: "module" };
    },
  });
}

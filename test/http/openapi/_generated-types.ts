// Types that `openapi-typescript` makes of a document. It prints them with the compiler's JavaScript
// interface, which TypeScript 7 does not have: its import is answered by the copy that
// `@ts-morph/common` carries.
import { registerHooks } from "node:module";

const COMPILER = "trustrank:typescript";
const CARRIER = import.meta.resolve("@ts-morph/common");

/** TypeScript declarations of `document`. */
export async function typesOf(document: string): Promise<string> {
  const hooks = registerHooks({
    resolve: (specifier, context, next) =>
      specifier === "typescript" && context.parentURL?.includes("/openapi-typescript/") === true
        ? { url: COMPILER, format: "module", shortCircuit: true }
        : next(specifier, context),
    load: (url, context, next) =>
      url === COMPILER
        ? {
            format: "module",
            source: `import { ts } from ${JSON.stringify(CARRIER)}; export default ts;`,
            shortCircuit: true,
          }
        : next(url, context),
  });
  try {
    const { default: declare, astToString } = await import("openapi-typescript");
    return astToString(await declare(document));
  } finally {
    hooks.deregister();
  }
}

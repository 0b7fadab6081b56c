// Routes and their matching: data read by the matcher, the guards, the metrics and the OpenAPI
// document, with a handler that turns an Exchange into a Reply or throws ServiceFault.
import type { Exchange } from "./exchange.ts";
import type { RouteDescription } from "./route-description.ts";
import type { Reply } from "./server/port.ts";

export interface Route extends RouteDescription {
  readonly handle: (exchange: Exchange) => Reply | Promise<Reply>;
}

export const ASYNC_DEADLINE_MS = 2000;

/** Whether a route takes `POST` at exactly its path. */
export function isExactPathPost(method: string, path: string): boolean {
  return method === "POST" && !path.includes("{");
}

interface RouteMethods {
  /** Value of `Allow`. */
  allow: string;
  byMethod: ReadonlyMap<string, number>;
}

/** The outcome of matching a path: route indexes by method, and the text after a prefix. */
export interface RouteMatch {
  methods: RouteMethods;
  parameter: string;
}

/** Exact matching over a fixed table: nothing is decoded or normalised before it (405 and 404). */
export class RouteTable {
  readonly routes: readonly Route[];
  readonly #exact = new Map<string, RouteMatch>();
  /** The last exact match: a thread's next request is mostly for the same path. */
  #lastPath = "";
  #last: RouteMatch | undefined = undefined;
  readonly #prefixes: { prefix: string; suffix: string; methods: RouteMethods }[] = [];

  constructor(routes: readonly Route[]) {
    this.routes = routes;
    for (const path of new Set(routes.map((route) => route.path))) {
      const methods = listMethods(routes, path);
      const brace = path.indexOf("{");
      if (brace < 0) this.#exact.set(path, { methods, parameter: "" });
      else {
        const suffix = path.slice(path.indexOf("}") + 1);
        this.#prefixes.push({ prefix: path.slice(0, brace), suffix, methods });
      }
    }
    // The longer suffix is the closer match; without one the parameter takes all that is left.
    this.#prefixes.sort((left, right) => right.suffix.length - left.suffix.length);
  }

  /** Whether a route has exactly this path. */
  isExact(path: string): boolean {
    return this.#exact.has(path);
  }

  match(path: string): RouteMatch | undefined {
    if (path === this.#lastPath) return this.#last;
    const exact = this.#exact.get(path);
    if (exact !== undefined) {
      this.#lastPath = path;
      return (this.#last = exact);
    }
    for (const { prefix, suffix, methods } of this.#prefixes) {
      if (!path.startsWith(prefix) || !path.endsWith(suffix)) continue;
      const end = path.length - suffix.length;
      if (end <= prefix.length) continue;
      const parameter = path.slice(prefix.length, end);
      // Before a suffix the parameter is one segment: an agent may be called `agent://a/b/keys`.
      if (suffix === "" || !parameter.includes("/")) return { methods, parameter };
    }
    return undefined;
  }
}

function listMethods(routes: readonly Route[], path: string): RouteMethods {
  const byMethod = new Map<string, number>();
  for (const [index, route] of routes.entries()) {
    if (route.path !== path) continue;
    byMethod.set(route.method, index);
    // HEAD is GET without the body (RFC 9110 §9.3.2); the adapter leaves the body out.
    if (route.method === "GET") byMethod.set("HEAD", index);
  }
  return { allow: [...byMethod.keys()].join(", "), byMethod };
}

// What a route is: data that the matcher, the guards, the metrics and the OpenAPI document all
// read. A handler turns an Exchange into a Reply and throws ServiceFault when it cannot.
import type { Scope } from "../contract/vocabulary.ts";
import type { Exchange } from "./exchange.ts";
import type { RateClass } from "./rate-limits.ts";
import type { Reply } from "./server-port.ts";

/** `none`: open to all. `key`: any valid key. Else the scope the key must hold (or `admin`). */
export type Access = Scope | "none" | "key";

export interface Route {
  /** Operation id and metrics label. */
  readonly name: string;
  readonly method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE" | "OPTIONS";
  /** Exact path, or a prefix and one trailing `{parameter}` that may hold slashes. */
  readonly path: string;
  readonly summary: string;
  readonly access: Access;
  readonly rateClass?: RateClass;
  readonly body?: RouteBody;
  /** Query parameters by name, with what they mean. Asynchronous or `GET` routes only. */
  readonly query?: Readonly<Record<string, string>>;
  /** Status -> what it carries. Problems are common to all routes and not listed. */
  readonly responses: Readonly<Record<number, RouteResponse>>;
  /** Answered in the callback that completed the body; holds for all reads of scores. */
  readonly isSynchronous: boolean;
  /** True where `Accept` is not negotiated: probes and scrapers send all sorts. */
  readonly isFixedFormat?: boolean;
  /** Longest an asynchronous answer may take before it is `deadline_exceeded`. */
  readonly deadlineMs?: number;
  readonly handle: (exchange: Exchange) => Reply | Promise<Reply>;
}

export interface RouteBody {
  readonly kind: "document" | "ndjson";
  readonly bytesMax: number;
  /** Name of the schema in the OpenAPI document. */
  readonly schema: string;
}

export interface RouteResponse {
  readonly description: string;
  /** Name of the schema; absent for text. */
  readonly schema?: string;
  /** Media type when it is not negotiated. */
  readonly mediaType?: string;
}

export const ASYNC_DEADLINE_MS = 2000;

interface Methods {
  /** Value of `Allow`. */
  allow: string;
  byMethod: ReadonlyMap<string, number>;
}

/** The outcome of matching a path: route indexes by method, and the text after a prefix. */
export interface Match {
  methods: Methods;
  parameter: string;
}

/** Exact matching over a fixed table: nothing is decoded or normalised before it (405 and 404). */
export class RouteTable {
  readonly routes: readonly Route[];
  readonly #exact = new Map<string, Match>();
  readonly #prefixes: { prefix: string; methods: Methods }[] = [];

  constructor(routes: readonly Route[]) {
    this.routes = routes;
    for (const path of new Set(routes.map((route) => route.path))) {
      const methods = methodsOf(routes, path);
      const brace = path.indexOf("{");
      if (brace < 0) this.#exact.set(path, { methods, parameter: "" });
      else this.#prefixes.push({ prefix: path.slice(0, brace), methods });
    }
  }

  match(path: string): Match | undefined {
    const exact = this.#exact.get(path);
    if (exact !== undefined) return exact;
    for (const { prefix, methods } of this.#prefixes) {
      if (path.length > prefix.length && path.startsWith(prefix)) {
        return { methods, parameter: path.slice(prefix.length) };
      }
    }
    return undefined;
  }
}

function methodsOf(routes: readonly Route[], path: string): Methods {
  const byMethod = new Map<string, number>();
  for (const [index, route] of routes.entries()) {
    if (route.path !== path) continue;
    byMethod.set(route.method, index);
    // HEAD is GET without the body (RFC 9110 §9.3.2); the adapter leaves the body out.
    if (route.method === "GET") byMethod.set("HEAD", index);
  }
  return { allow: [...byMethod.keys()].join(", "), byMethod };
}

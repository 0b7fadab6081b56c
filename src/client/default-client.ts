// Default client of the process: the specification's own forms (`withTrustRank(fn, {agentId,
// stakes})`, `trustGate(inner)`) have no argument for one. One for the process, not for each copy of
// this library in it: a program may `import` it and a dependency `require` it.
import type { TrustRankClient } from "./client.ts";
import { TrustRankError } from "./errors.ts";

const CLIENT_SYMBOL = Symbol.for("trustrank.client");
const globalScope = globalThis as { [CLIENT_SYMBOL]?: TrustRankClient | undefined };

/** Installs the process's client, once at start; undefined removes it. */
export function useTrustRank(client: TrustRankClient | undefined): void {
  globalScope[CLIENT_SYMBOL] = client;
}

/**
 * The given client, or the installed one: a check is never skipped for want of a client.
 * @throws TrustRankError `not_configured` when there is neither.
 */
export function requireClient(given: TrustRankClient | undefined): TrustRankClient {
  const client = given ?? globalScope[CLIENT_SYMBOL];
  if (client !== undefined) return client;
  const detail = "no client: pass `client` or call `useTrustRank` at start";
  throw new TrustRankError("not_configured", detail);
}

// Default client of the process: the specification's own forms (`withTrustRank(fn, {agentId,
// stakes})`, `trustGate(inner)`) have no argument for one.
import type { TrustRankClient } from "./client.ts";
import { TrustRankError } from "./errors.ts";

let installed: TrustRankClient | undefined;

/** Installs the process's client, once at start; undefined removes it. */
export function useTrustRank(client: TrustRankClient | undefined): void {
  installed = client;
}

/**
 * The given client, or the installed one: a check is never skipped for want of a client.
 * @throws TrustRankError `not_configured` when there is neither.
 */
export function clientFor(given: TrustRankClient | undefined): TrustRankClient {
  const client = given ?? installed;
  if (client !== undefined) return client;
  const detail = "no client: pass `client` or call `useTrustRank` at start";
  throw new TrustRankError("not_configured", detail);
}

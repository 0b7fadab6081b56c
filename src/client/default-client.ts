// The client that rails use when none is handed to them: the specification's own forms
// (`withTrustRank(fn, {agentId, stakes})`, `trustGate(inner)`) leave no place for one.
import type { TrustRankClient } from "./client.ts";
import { TrustRankError } from "./errors.ts";

let installed: TrustRankClient | undefined;

/** Installs the process's client, once at start; undefined takes it away. */
export function useTrustRank(client: TrustRankClient | undefined): void {
  installed = client;
}

/** The client given, or the installed one, or TrustRankError `not_configured`: never no check. */
export function clientFor(given: TrustRankClient | undefined): TrustRankClient {
  const client = given ?? installed;
  if (client !== undefined) return client;
  const detail = "no client: pass `client` or call `useTrustRank` at start";
  throw new TrustRankError("not_configured", detail);
}

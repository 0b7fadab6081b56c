// TrustGateway on virtual time, for the suites that put it to faults and to repeats.
import { vi } from "vitest";
import { TrustRankClient } from "../../src/client/client.ts";
import { TrustGateway, type TrustGatewayOptions } from "../../src/client/gateway/gateway.ts";
import type { OutageAlert } from "../../src/client/outage-alert.ts";
import type { GatewayLog } from "../../src/client/ruling.ts";
import type { FetchLike } from "../../src/client/runtime.ts";
import type { ToolLevel } from "../../src/contract/vocabulary.ts";

export const AGENT = "agent://acme/buyer";
export const MINUTE_MS = 60_000;

/** A TrustGateway over that `fetch`, with what it told its operators. */
export function open(fetch: FetchLike, more: Partial<TrustGatewayOptions> = {}) {
  const alerts: OutageAlert[] = [];
  const logs: GatewayLog[] = [];
  const flagged: GatewayLog[] = [];
  const gateway = new TrustGateway({
    client: new TrustRankClient({ baseUrl: "http://trust", fetch }),
    onAlert: (alert) => void alerts.push(alert),
    onLog: (entry) => void logs.push(entry),
    onFlagged: (entry) => void flagged.push(entry),
    follow: false,
    ...more,
  });
  const ask = (toolLevel: ToolLevel, stakes = 0, agentId = AGENT) =>
    gateway.authorize({ agentId, action: "files.read", toolLevel, stakes });
  return { gateway, ask, alerts, logs, flagged };
}

/** Lets timers run until `promise` settles, at most a virtual second. */
export async function settle<Value>(promise: Promise<Value>): Promise<Value> {
  const result = promise.then(
    (value) => ({ value }),
    (error: unknown) => ({ error }),
  );
  await vi.advanceTimersByTimeAsync(1000);
  const settled = await result;
  if ("error" in settled) throw settled.error;
  return settled.value;
}

// A gateway in front of the lines' world, up or behind a fault.
import { TrustRankClient } from "../../src/client/client.ts";
import { type Fault, FaultProxy } from "../../src/client/conformance/fault-proxy.ts";
import { TrustGateway, type TrustGatewayOptions } from "../../src/client/gateway/gateway.ts";
import type { OutageAlert } from "../../src/client/outage-alert.ts";
import type { GatewayLog } from "../../src/client/ruling.ts";
import type { ToolLevel } from "../../src/contract/vocabulary.ts";
import { type LineSetting, TEST_AGENTS } from "./_line-setting.ts";

/** A gateway in front of the world through a proxy that breaks its requests, and what it told. */
export async function underFault<Result>(
  { world }: LineSetting,
  fault: Fault,
  use: (parts: {
    gateway: TrustGateway;
    client: TrustRankClient;
    alerts: OutageAlert[];
    logs: GatewayLog[];
  }) => Promise<Result>,
): Promise<Result> {
  const proxy = await FaultProxy.open(world.urls[0]);
  try {
    await proxy.set(fault);
    const client = new TrustRankClient({ baseUrl: proxy.baseUrl, apiKey: world.key });
    const [alerts, logs]: [OutageAlert[], GatewayLog[]] = [[], []];
    const gateway = new TrustGateway({
      client,
      onAlert: (alert) => void alerts.push(alert),
      onLog: (entry) => void logs.push(entry),
    });
    return await use({ gateway, client, alerts, logs });
  } finally {
    await proxy.close();
  }
}

/** The service never answers. */
export const SILENCE: Fault = { kind: "silence" };
/** One action at a level. */
export const authorize = (
  gateway: TrustGateway,
  toolLevel: ToolLevel,
  agentId: string = TEST_AGENTS.connect,
) => gateway.authorize({ agentId, action: "order.place", toolLevel });

/** A gateway of the world that is up, and what it logged. */
export function openGateway({ client }: LineSetting, more: Partial<TrustGatewayOptions> = {}) {
  const logs: GatewayLog[] = [];
  const gateway = new TrustGateway({ client, onLog: (entry) => void logs.push(entry), ...more });
  return { gateway, logs };
}

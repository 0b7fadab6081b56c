// Nodes behind HAProxy with its example, restarted one after the other with their drain window as shipped: no
// request is refused or lost. `npm run bench -- gateways` does it with 10,000 requests and three rounds.
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { DRAIN_MS } from "../../src/contract/setting-defaults.ts";
import { needs } from "../_needs.ts";
import { addNewcomers, type GatewayOnNodes, NEWCOMERS, openOnNodes } from "./_nodes.ts";
import { restartInTurn } from "./_rolling.ts";

describe("haproxy", needs("haproxy"), () => {
  let edge: GatewayOnNodes;
  beforeAll(async () => {
    const environment = { TRUSTRANK_DRAIN_MS: `${DRAIN_MS}` };
    edge = await openOnNodes("haproxy", { nodeCount: 2, change: addNewcomers, environment });
  });
  afterAll(() => edge?.stop());

  it("loses nothing while both nodes are restarted", async () => {
    const agents = [["connect", 200] as const, ...NEWCOMERS.map((name) => [name, 403] as const)];
    const options = { requests: 1000, rounds: 1, callers: 4, pauseMs: 20, agents };
    const { right, ...rest } = await restartInTurn(edge, options);
    expect(rest).toEqual({ wrong: {}, restarts: 2, badExits: [] });
    expect(right).toBeGreaterThanOrEqual(1000);
  });
});

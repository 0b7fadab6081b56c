// The conformance kit against TrustGateway on real sockets, and against gateways that are wrong on
// purpose: a suite that passes everything proves nothing.
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { TrustRankClient } from "../../src/client/client.ts";
import { type Fault, FaultProxy } from "../../src/client/conformance/fault-proxy.ts";
import {
  conformanceTable,
  FAULTS,
  type Observed,
  runConformance,
  type Subject,
} from "../../src/client/conformance/suite.ts";
import { TrustGateway } from "../../src/client/gateway/gateway.ts";
import { protectRoute } from "../../src/client/gateway/protect.ts";
import { TOOL_LEVELS, type ToolLevel } from "../../src/contract/vocabulary.ts";
import { type Service, startTestService } from "../client/_service.ts";
import { stretched } from "../_patience.ts";

/**
 * The exact 100 ms are tested on virtual time (test/client/gateway/gateway.test.ts). Here sockets
 * are real, and a machine that is busy elsewhere for a moment must not decide.
 */
const TIMES = { budgetMs: stretched(250), marginMs: stretched(150) };
/** Where no answer is waited for in time. */
const HASTY = { budgetMs: 40, marginMs: 20 };

let service: Service;
let proxy: FaultProxy;
beforeAll(async () => {
  service = await startTestService();
  proxy = await FaultProxy.open(service.baseUrl);
});
afterAll(async () => {
  await proxy.close();
  await service.stop();
});

/** A route behind TrustGateway, as an application would put it there. */
function trustGatewaySubject(
  baseUrl: string | readonly string[] = proxy.baseUrl,
  { budgetMs } = TIMES,
  agentId?: string,
): Subject {
  const name = agentId === undefined ? {} : { agentId };
  let alerts = 0;
  let gateway: TrustGateway;
  const reset = () => {
    alerts = 0;
    gateway = new TrustGateway({
      client: new TrustRankClient({
        baseUrl,
        apiKey: service.apiKey,
        timeoutMs: budgetMs,
        ...name,
      }),
      onAlert: () => void (alerts += 1),
    });
  };
  reset();
  return {
    reset,
    alertCount: () => alerts,
    setFault: (fault) => proxy.set(fault),
    async request(toolLevel: ToolLevel): Promise<Observed> {
      let reachedTool = false;
      const route = protectRoute(
        () => {
          reachedTool = true;
          return new Response("tool");
        },
        { gateway, toolLevel, action: "files.edit", agentId: () => "agent://test/connect" },
      );
      const response = await route(new Request("http://app/"));
      return {
        status: response.status,
        retryAfter: response.headers.get("retry-after"),
        degraded: response.headers.get("x-trust-degraded"),
        reachedTool,
      };
    },
  };
}

describe("TrustGateway", () => {
  it.each([
    ["holds the fail policy under every fault", undefined],
    ["and where it shakes hands first", "agent://test/connect"],
  ])("%s", async (_name, agentId) => {
    await fetch(service.baseUrl).then((response) => response.text());
    const rows = await runConformance(trustGatewaySubject(proxy.baseUrl, TIMES, agentId), TIMES);
    const failing = rows.filter(({ faults }) => faults.length > 0);
    expect(conformanceTable(failing)).toBe("");
    expect(rows).toHaveLength(60);
  });

  it("and over two nodes of which both are at fault; with one at fault there is none", async () => {
    const other = await FaultProxy.open(service.baseUrl);
    const both = [proxy, other];
    // A node of two has half of the time: what is within the limit must be within that.
    const times = { budgetMs: stretched(400), marginMs: stretched(270) };
    const baseUrl = both.map((each) => each.baseUrl);
    try {
      const subject = trustGatewaySubject(baseUrl, times);
      const setFault = async (fault: Fault) => {
        await Promise.all(both.map((each) => each.set(fault)));
      };
      const rows = await runConformance({ ...subject, setFault }, times);
      expect(conformanceTable(rows.filter(({ faults }) => faults.length > 0))).toBe("");

      for (const [name, fault] of FAULTS) {
        // What only another client can mend is the same at every node.
        if (name.includes("40") || name === "wrong types") continue;
        await proxy.set(fault);
        subject.reset?.();
        const { status, reachedTool, degraded } = await subject.request("L3");
        expect([name, status, reachedTool, degraded]).toEqual([name, 200, true, null]);
      }
    } finally {
      await proxy.set({ kind: "none" });
      await other.close();
    }
  });

  it("and when the service's name does not resolve", async () => {
    const subject = trustGatewaySubject("http://no-such-service.invalid");
    for (const level of TOOL_LEVELS) {
      const { status, reachedTool } = await subject.request(level);
      const isOpen = level === "L0" || level === "L1";
      expect([level, reachedTool, status]).toEqual([level, isOpen, isOpen ? 200 : 503]);
    }
  });
});

describe("the suite", () => {
  const honest = { status: 503, retryAfter: "1", degraded: "L3_closed", reachedTool: false };
  const wrongs: Record<string, (level: ToolLevel) => Observed> = {
    "lets everything pass": () => ({ ...honest, status: 200, reachedTool: true }),
    "closes everything": () => honest,
    "denies a fault with 403": () => ({ ...honest, status: 403 }),
    "gives no retry guidance": () => ({ ...honest, retryAfter: null }),
    "does not mark what it let pass": (level) =>
      level < "L2" ? { ...honest, status: 200, reachedTool: true, degraded: null } : honest,
  };

  it.each(Object.keys(wrongs))("catches a gateway that %s", async (name) => {
    const subject: Subject = {
      setFault: async () => undefined,
      request: async (level) => wrongs[name]!(level),
    };
    const rows = await runConformance(subject);
    expect(rows.some(({ faults }) => faults.length > 0)).toBe(true);
    expect(conformanceTable(rows)).toContain("FAILS");
  });

  it("catches alerts that are missing or repeated", async () => {
    const right = trustGatewaySubject(proxy.baseUrl, HASTY);
    for (const count of [0, 2]) {
      const subject: Subject = { ...right, alertCount: () => count };
      await subject.setFault({ kind: "refused" });
      const rows = await runConformance(subject, HASTY);
      expect(
        rows.filter(({ toolLevel, faults }) => toolLevel === "L3" && faults.length > 0),
      ).not.toEqual([]);
    }
  });
});

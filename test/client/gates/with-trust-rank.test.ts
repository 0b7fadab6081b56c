// withTrustRank over the real service: a function runs on a verdict that lets it, and on nothing else.
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { TrustRankClient } from "../../../src/client/client.ts";
import { useTrustRank } from "../../../src/client/default-client.ts";
import { TrustGateError } from "../../../src/client/errors.ts";
import { withTrustRank } from "../../../src/client/gates/with-trust-rank.ts";
import { WAIT_MS_MAX } from "../../_patience.ts";
import { rejection } from "../_replies.ts";
import { type Service, startTestService } from "../_service.ts";

const CONNECT = "agent://test/connect";
const REFUSE = "agent://test/refuse";
const VERIFY = "agent://test/verify";
const ESCALATE = "agent://test/escalate";

const boom = (): never => {
  throw new Error("boom");
};

let service: Service;
let client: TrustRankClient;

beforeAll(async () => {
  service = await startTestService();
  client = new TrustRankClient({ ...service, timeoutMs: WAIT_MS_MAX, agentId: "agent://acme/me" });
});
afterAll(() => service.stop());

describe("withTrustRank", () => {
  const ran: string[] = [];
  const transfer = (to: string, amount: number) => {
    ran.push(to);
    return `sent ${amount}`;
  };
  const gated = () =>
    withTrustRank(transfer, { agentId: (to) => to, stakes: (_to, amount) => amount, client });

  it("runs the function when the verdict lets it", async () => {
    expect(await gated()(CONNECT, 5)).toBe("sent 5");
  });

  it("verifies a connection that is to be verified, and only true is a yes", async () => {
    const options = { agentId: (to: string) => to, stakes: () => 5, client };
    const seen: unknown[] = [];
    const verified = withTrustRank(transfer, {
      ...options,
      verification: (verdict, leg, [to, amount]) => {
        seen.push("decision" in verdict && verdict.decision, leg.subject, to, amount);
        return true;
      },
    });
    expect(await verified(VERIFY, 7)).toBe("sent 7");
    expect(seen).toEqual(["connect_with_verification", VERIFY, VERIFY, 7]);
    expect(await verified(CONNECT, 5)).toBe("sent 5");
    expect(seen, "nothing to verify").toHaveLength(4);
    ran.length = 0;
    const no = (() => 1) as never;
    for (const verification of [() => false, async () => false, boom, no]) {
      const asked = withTrustRank(transfer, { ...options, verification, onEscalate: () => true });
      expect(await rejection(asked(VERIFY, 5))).toBeInstanceOf(TrustGateError);
    }
    expect(ran).toEqual([]);
  });

  it("without a verification asks a person, and does not run without one", async () => {
    const options = { agentId: (to: string) => to, stakes: () => 5, client };
    const asked = withTrustRank(transfer, { ...options, onEscalate: () => true });
    expect(await asked(VERIFY, 5)).toBe("sent 5");
    const thrown = await rejection(gated()(VERIFY, 5));
    expect(thrown).toMatchObject({ decision: "connect_with_verification", status: 403 });
  });

  it("does not run it on refuse, escalate, fault or a callback that throws", async () => {
    ran.length = 0;
    const down = new TrustRankClient({ baseUrl: "http://127.0.0.1:1", timeoutMs: WAIT_MS_MAX });
    const agentId = (to: string) => to;
    const attempts = [
      rejection(gated()(REFUSE, 5)),
      rejection(gated()(ESCALATE, 5)),
      rejection(withTrustRank(transfer, { agentId, stakes: boom, client })(CONNECT, 5)),
      rejection(withTrustRank(transfer, { agentId: boom, stakes: () => 1, client })(CONNECT, 5)),
      rejection(withTrustRank(transfer, { agentId, stakes: () => 1, client: down })(CONNECT, 5)),
      rejection(withTrustRank(transfer, { agentId, stakes: () => Number.NaN, client })(CONNECT, 5)),
    ];
    const names = (await Promise.all(attempts)).map((thrown) => (thrown as Error).name);
    const gate = "TrustGateError";
    const fault = "TrustRankError";
    expect(names).toEqual([gate, gate, gate, gate, fault, gate]);
    expect(ran).toEqual([]);
  });

  it("asks a person on escalate when it can, and only true is a yes", async () => {
    const options = { agentId: (to: string) => to, stakes: () => 5, client };
    const approved = withTrustRank(transfer, { ...options, onEscalate: () => true });
    expect(await approved(ESCALATE, 5)).toBe("sent 5");
    const later = () => Promise.reject(new Error("boom"));
    for (const onEscalate of [() => false, boom, later]) {
      const asked = withTrustRank(transfer, { ...options, onEscalate });
      expect(await rejection(asked(ESCALATE, 5))).toBeInstanceOf(TrustGateError);
    }
  });

  it("uses the installed client, and refuses to run without any", async () => {
    const options = { agentId: (to: string) => to, stakes: () => 5 };
    const thrown = await rejection(withTrustRank(transfer, options)(CONNECT, 5));
    expect(thrown).toMatchObject({ code: "not_configured" });
    useTrustRank(client);
    expect(await withTrustRank(transfer, options)(CONNECT, 5)).toBe("sent 5");
    useTrustRank(undefined);
  });
});

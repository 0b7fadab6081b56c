// Outcomes that get lost are said once for each cause, by the real service's own words where it refuses them.
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { TrustRankClient } from "../../../src/client/client.ts";
import type { OutcomeRequest } from "../../../src/client/messages.ts";
import { type OutcomeDrop, OutcomeQueue } from "../../../src/client/reporting/outcome-queue.ts";
import { WAIT_MS_MAX } from "../../_patience.ts";
import { type Service, startTestService } from "../_service.ts";
import { recordWarnings } from "./_warnings.ts";

const REPORTER = "agent://acme/me";
const SUBJECT = "agent://shop/seller";

let service: Service;
beforeAll(async () => {
  service = await startTestService();
});
afterAll(() => service.stop());

const warned = recordWarnings();

const openClient = (more: object = {}) =>
  new TrustRankClient({ ...service, agentId: REPORTER, slowTimeoutMs: WAIT_MS_MAX, ...more });

/** Takes every outcome but those with the stakes 422. */
async function refusing422(_url: string, init: RequestInit): Promise<Response> {
  const outcomes = JSON.parse(init.body as string) as OutcomeRequest[];
  const items = outcomes.map(({ stakes }) =>
    stakes === 422
      ? { status: 422, problem: { code: "said_422" } }
      : { status: 201, result: { outcome_id: "o", duplicate: false } },
  );
  return Response.json({ items });
}

describe("a lost outcome", () => {
  const members = { subject: SUBJECT, reporter: REPORTER, grade: "counterparty" } as const;
  const offerTo = (queue: OutcomeQueue, ...stakes: number[]) => {
    for (const each of stakes) queue.offer({ ...members, outcome: 1, stakes: each });
    return queue.flush(WAIT_MS_MAX);
  };
  const open = (client: TrustRankClient, more: object = {}) =>
    new OutcomeQueue({ client: () => client, pauseMs: 1, ...more });

  it("is warned of once where the key may not report, and counted", async () => {
    const reading = await service.createKey(["score:read"]);
    const queue = open(openClient({ apiKey: reading }));
    await offerTo(queue, 1);
    await offerTo(queue, 2, 3);
    expect(queue.counts).toMatchObject({ offered: 3, sent: 0, dropped: 3 });
    expect(warned()).toEqual([
      "trustrank: an outcome was not delivered: the service refused it (insufficient_scope: this route needs the scope `outcomes:write`); more of the same are only counted",
    ]);
  });

  it("is warned of once for each cause, with the members at fault", async () => {
    const queue = open(openClient(), { queuedMax: 2, attemptsMax: 1 });
    await offerTo(queue, -1, -2, 1);
    await offerTo(open(openClient({ baseUrl: "http://127.0.0.1:1" }), { attemptsMax: 1 }), 1, 1);
    expect(warned()).toEqual([
      expect.stringMatching(/: the queue is full; more of the same/),
      expect.stringMatching(/refused it \(invalid_request: \/stakes: [^;]+\); more/),
      expect.stringMatching(/: all attempts failed \(unreachable: the service at http/),
    ]);
  });

  it("is warned of again once it has worked in between, a minute apart", async () => {
    vi.useFakeTimers({ toFake: ["performance"] });
    try {
      const queue = open(openClient({ fetch: refusing422 }));
      await offerTo(queue, 422);
      vi.advanceTimersByTime(60_000);
      await offerTo(queue, 422);
      expect(warned()).toHaveLength(1);
      await offerTo(queue, 1);
      await offerTo(queue, 422);
      expect(warned()).toHaveLength(2);
      await offerTo(queue, 1, 422);
      expect(warned()).toHaveLength(2);
      vi.advanceTimersByTime(60_000);
      await offerTo(queue, 422);
      expect(warned()).toHaveLength(3);
    } finally {
      vi.useRealTimers();
    }
  });

  it("is told to `onDrop` alone, where there is one", async () => {
    const drops: OutcomeDrop[] = [];
    const onDrop = (drop: OutcomeDrop) => void drops.push(drop);
    await offerTo(open(openClient({ fetch: refusing422 }), { onDrop }), 422, 422);
    expect([drops.length, warned()]).toEqual([2, []]);
  });
});

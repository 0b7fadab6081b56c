// Fail-over on virtual time: which nodes a request is put to, when, and for how long; what is never
// sent twice; hedged reads.
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { TrustRankClient } from "../../../src/client/client.ts";
import type { TrustRankClientOptions } from "../../../src/client/options.ts";
import { settle } from "../_gateway.ts";
import { checkReply, rejection } from "../_replies.ts";

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance", "Date"] });
});
afterEach(() => {
  vi.useRealTimers();
});

type Treatment = "good" | "refused" | "reset" | "silent" | { ms: number } | (() => Response);
interface Asked {
  node: string;
  path: string;
  atMs: number;
  isAborted: boolean;
}

const [A, B, C] = ["http://a", "http://b", "http://c"] as const;
const AGENT = "agent://acme/buyer";
const OUTCOME = {
  subject: AGENT,
  reporter: "agent://acme/me",
  outcome: 1,
  stakes: 5,
  grade: "counterparty",
} as const;

/** Nodes that are treated as the table says; what they were asked. */
function open(table: Record<string, Treatment>, more: Partial<TrustRankClientOptions> = {}) {
  const asked: Asked[] = [];
  const startMs = performance.now();
  const fetch = async (url: string, init: RequestInit): Promise<Response> => {
    const { origin, pathname } = new URL(url);
    const entry = {
      node: origin,
      path: pathname,
      atMs: performance.now() - startMs,
      isAborted: false,
    };
    asked.push(entry);
    init.signal?.addEventListener("abort", () => (entry.isAborted = true));
    const treatment = table[origin]!;
    if (treatment === "refused" || treatment === "reset") {
      const code = treatment === "refused" ? "ECONNREFUSED" : "ECONNRESET";
      throw new TypeError("fetch failed", { cause: Object.assign(new Error(code), { code }) });
    }
    const ms = treatment === "silent" ? 1e9 : typeof treatment === "object" ? treatment.ms : 0;
    if (ms > 0) {
      await new Promise<void>((resolve, reject) => {
        setTimeout(resolve, ms);
        init.signal?.addEventListener("abort", () => reject(init.signal!.reason as Error));
      });
    }
    if (typeof treatment === "function") return treatment();
    return Response.json(pathname === "/v1/check" ? checkReply(AGENT, 5) : receipt);
  };
  const client = new TrustRankClient({ baseUrl: Object.keys(table), fetch, ...more });
  return { client, asked, nodes: () => asked.map(({ node }) => node) };
}
const receipt = {
  outcome_id: "o-1",
  position: 1,
  recorded_at: "2026-01-01T00:00:00.000Z",
  duplicate: false,
  signature: "none",
};
const problem =
  (status: number, headers: Record<string, string> = {}) =>
  () =>
    new Response(JSON.stringify({ code: status === 429 ? "rate_limited" : "overloaded" }), {
      status,
      headers: { "content-type": "application/problem+json", ...headers },
    });
const check = (client: TrustRankClient) => client.check(AGENT, { stakes: 5 });

/** The node that is asked first about AGENT, and the other. */
async function pair(): Promise<[first: string, second: string]> {
  const { client, nodes } = open({ [A]: "good", [B]: "good" });
  await settle(check(client));
  const [first] = nodes();
  return first === A ? [A, B] : [B, A];
}

describe("a read", () => {
  it.each<[string, Treatment]>([
    ["refuses connections", "refused"],
    ["resets them", "reset"],
    ["says 503", problem(503)],
    ["says 500 without a document", () => new Response("oops", { status: 500 })],
    ["is silent", "silent"],
  ])("is answered by another node when one %s", async (_name, treatment) => {
    const [first, second] = await pair();
    const { client, asked } = open({ [first]: treatment, [second]: "good" });
    expect(await settle(check(client))).toMatchObject({ decision: "connect" });
    expect(asked.map(({ node }) => node)).toEqual([first, second]);
    expect(asked[1]!.atMs).toBeLessThanOrEqual(50);
  });

  it.each([401, 404, 429])(
    "is not repeated after %d: another node would say the same",
    async (s) => {
      const [first, second] = await pair();
      const { client, nodes } = open({ [first]: problem(s), [second]: "good" });
      expect(await rejection(settle(check(client)))).toMatchObject({ status: s });
      expect(nodes()).toEqual([first]);
    },
  );

  it("gives each of three nodes its share of the time, and the last what is left", async () => {
    const { client, asked } = open({ [A]: "silent", [B]: "silent", [C]: "silent" });
    const thrown = await rejection(settle(check(client)));
    expect(thrown).toMatchObject({ code: "timeout", isTransient: true });
    expect(asked.map(({ atMs }) => Math.round(atMs))).toEqual([0, 33, 66]);
    expect(new Set(asked.map(({ node }) => node)).size).toBe(3);
    expect(asked.every(({ isAborted }) => isAborted)).toBe(true);
  });

  it("is over in the caller's time when all nodes are silent, and not before", async () => {
    const { client } = open({ [A]: "silent", [B]: "silent" });
    let isDone = false;
    void check(client).catch(() => (isDone = true));
    await vi.advanceTimersByTimeAsync(99);
    expect(isDone).toBe(false);
    await vi.advanceTimersByTimeAsync(1);
    expect(isDone).toBe(true);
  });

  it("ends when the caller gives up, at every node", async () => {
    const { client, asked } = open({ [A]: "silent", [B]: "silent" });
    const controller = new AbortController();
    const asking = rejection(client.check(AGENT, { stakes: 5, signal: controller.signal }));
    controller.abort();
    expect(await asking).toMatchObject({ code: "aborted" });
    expect(asked).toMatchObject([{ isAborted: true }]);
    const late = client.check(AGENT, { stakes: 5, signal: controller.signal });
    expect(await rejection(late)).toMatchObject({ code: "aborted" });
    expect(asked).toHaveLength(1);
  });
});

describe("a node that failed", () => {
  it("rests, is probed behind the requests, and has its agents back", async () => {
    const [first, second] = await pair();
    const table: Record<string, Treatment> = { [first]: "refused", [second]: "good" };
    const { client, asked, nodes } = open(table);
    await settle(check(client));
    expect(nodes()).toEqual([first, second]);
    asked.length = 0;
    // A virtual second later: this question starts the probe and does not wait for it.
    await settle(check(client));
    const probed = [
      { node: first, path: "/readyz" },
      { node: second, path: "/v1/check" },
    ];
    expect(asked).toMatchObject(probed);
    // The second rest is of two seconds.
    asked.length = 0;
    await settle(check(client));
    expect(nodes()).toEqual([second]);
    table[first] = "good";
    asked.length = 0;
    await settle(check(client));
    expect(asked).toMatchObject(probed);
    asked.length = 0;
    await settle(check(client));
    expect(nodes()).toEqual([first]);
  });

  it("rests as long as it asks for", async () => {
    const [first, second] = await pair();
    const table: Record<string, Treatment> = {
      [first]: problem(503, { "retry-after": "20" }),
      [second]: "good",
    };
    const { client, asked, nodes } = open(table);
    await settle(check(client));
    table[first] = "good";
    asked.length = 0;
    // Each question lets one virtual second pass.
    for (let sec = 0; sec < 18; sec += 1) await settle(check(client));
    expect(new Set(nodes())).toEqual(new Set([second]));
    for (let sec = 0; sec < 4; sec += 1) await settle(check(client));
    expect(nodes().at(-1)).toBe(first);
  });

  it("is asked all the same when nobody else is left", async () => {
    const table: Record<string, Treatment> = { [A]: "refused", [B]: "refused" };
    const { client, nodes } = open(table);
    const thrown = await rejection(settle(check(client)));
    expect(thrown).toMatchObject({ code: "unreachable" });
    expect((thrown as Error).message).toContain("none of 2 nodes answered");
    table[A] = "good";
    expect(await settle(check(client))).toMatchObject({ decision: "connect" });
    expect(nodes()).toContain(A);
  });
});

describe("an outcome", () => {
  it("with an id goes to another node; without one only where it was certainly not sent", async () => {
    const identified = { ...OUTCOME, id: "order-1" };
    for (const [treatment, outcome, isRepeated] of [
      ["reset", identified, true],
      ["silent", identified, true],
      [problem(503), identified, true],
      ["refused", OUTCOME, true],
      ["reset", OUTCOME, false],
      ["silent", OUTCOME, false],
      [problem(503), OUTCOME, false],
    ] as const) {
      const [first, second] = await pair();
      const { client, nodes } = open(
        { [first]: treatment, [second]: "good" },
        { slowTimeoutMs: 500 },
      );
      const reported = settle(client.reportOutcome(outcome)).then(
        () => true,
        () => false,
      );
      expect(await reported).toBe(isRepeated);
      expect(nodes()).toEqual(isRepeated ? [first, second] : [first]);
    }
  });

  it("in a batch is repeated only if every one has an id", async () => {
    const table: Record<string, Treatment> = { [A]: "reset", [B]: "reset" };
    for (const [outcomes, count] of [
      [
        [
          { ...OUTCOME, id: "a" },
          { ...OUTCOME, id: "b" },
        ],
        2,
      ],
      [[{ ...OUTCOME, id: "a" }, OUTCOME], 1],
    ] as const) {
      const { client, asked } = open(table);
      const results = await settle(client.reportOutcomes(outcomes));
      expect(results.every(({ error }) => error?.code === "unreachable")).toBe(true);
      expect(asked).toHaveLength(count);
    }
  });

  it("that a node cannot take does not keep questions from it", async () => {
    const [first, second] = await pair();
    const table: Record<string, Treatment> = { [first]: problem(503), [second]: "good" };
    const { client, asked, nodes } = open(table);
    await settle(client.reportOutcome({ ...OUTCOME, id: "order-1" }));
    table[first] = "good";
    asked.length = 0;
    await settle(check(client));
    expect(nodes()).toEqual([first]);
  });
});

describe("a hedged read", () => {
  it("asks a second node when the first takes long; the first good answer counts", async () => {
    const [first, second] = await pair();
    const { client, asked } = open(
      { [first]: { ms: 45 }, [second]: { ms: 5 } },
      { hedgeAfterMs: 10 },
    );
    expect(await settle(check(client))).toMatchObject({ decision: "connect" });
    expect(asked.map(({ node, atMs }) => [node, Math.round(atMs)])).toEqual([
      [first, 0],
      [second, 10],
    ]);
    // Who lost is told to stop; nobody is blamed.
    expect(asked[0]!.isAborted).toBe(true);
  });

  it("asks nobody else when the first is quick", async () => {
    const [first, second] = await pair();
    const { client, nodes } = open({ [first]: { ms: 5 }, [second]: "good" }, { hedgeAfterMs: 10 });
    await settle(check(client));
    expect(nodes()).toEqual([first]);
  });

  it("waits for the one when the other fails", async () => {
    const [first, second] = await pair();
    const { client } = open({ [first]: { ms: 40 }, [second]: "refused" }, { hedgeAfterMs: 10 });
    expect(await settle(check(client))).toMatchObject({ decision: "connect" });
  });

  it("is for reads alone", async () => {
    const [first, second] = await pair();
    const { client, nodes } = open(
      { [first]: { ms: 200 }, [second]: "good" },
      { hedgeAfterMs: 10 },
    );
    await settle(client.reportOutcome({ ...OUTCOME, id: "order-1" }));
    expect(nodes()).toEqual([first]);
  });
});

it.each([
  ["no address", []],
  ["something else among them", [A, "ftp://a"]],
  ["too many", Array.from({ length: 33 }, (_, at) => `http://n${at}`)],
])("refuses %s", (_name, baseUrl) => {
  expect(() => new TrustRankClient({ baseUrl })).toThrow(/baseUrl/);
});

it("refuses a hedge that is no time", () => {
  expect(() => new TrustRankClient({ baseUrl: [A, B], hedgeAfterMs: Number.NaN })).toThrow(/hedge/);
});

it("takes an address named twice for one", async () => {
  const { client, nodes } = open({ [A]: "refused" }, { baseUrl: [A, `${A}/`] });
  await rejection(settle(check(client)));
  expect(nodes()).toEqual([A]);
});

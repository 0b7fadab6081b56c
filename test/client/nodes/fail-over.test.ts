// Fail-over on virtual time: which nodes a request is put to, when, and for how long; what is never
// sent twice; hedged reads.
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { TrustRankClient } from "../../../src/client/client.ts";
import { settle } from "../_gateway.ts";
import { rejection } from "../_replies.ts";
import { A, AGENT, B, C, check, open, OUTCOME, pair, problem, type Treatment } from "./_nodes.ts";

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance", "Date"] });
});
afterEach(() => {
  vi.useRealTimers();
});

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

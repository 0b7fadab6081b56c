// A gateway that follows the change feed, on virtual time: what a change drops, how long verdicts live in silence
// and without a feed, and how the stream is resumed. And in a process of its own: it does not keep it alive.
import { execFile } from "node:child_process";
import http from "node:http";
import type { AddressInfo } from "node:net";
import { promisify } from "node:util";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { FetchLike } from "../../../src/client/runtime.ts";
import { AGENT, open, settle } from "../_gateway.ts";
import { verifyReply } from "../_replies.ts";

/** A service whose feed the test writes, and its verdicts. */
function openService() {
  const encoder = new TextEncoder();
  const state = { status: 200, word: "ALLOW" as "ALLOW" | "BLOCK", asked: 0 };
  const sinces: (string | null)[] = [];
  let stream: ReadableStreamDefaultController<Uint8Array> | undefined;
  let delay: Promise<void> | undefined;
  const fetch: FetchLike = async (url, init) => {
    const { pathname, searchParams } = new URL(url);
    if (pathname !== "/v1/changes") {
      state.asked += 1;
      const reply = Response.json(verifyReply(state.word));
      await delay;
      return reply;
    }
    sinces.push(searchParams.get("since"));
    if (state.status !== 200) return new Response("", { status: state.status });
    const body = new ReadableStream<Uint8Array>({
      start(controller) {
        stream = controller;
        init.signal?.addEventListener("abort", () => controller.error(new Error("aborted")));
      },
    });
    return new Response(body, { headers: { "Content-Type": "text/event-stream" } });
  };
  const send = (event: string, id: string, data: object = {}) => {
    const text = `id: ${id}\nevent: ${event}\ndata: ${JSON.stringify(data)}\n\n`;
    stream!.enqueue(encoder.encode(text));
    return vi.advanceTimersByTimeAsync(0);
  };
  return {
    state,
    sinces,
    fetch,
    send,
    beat: (id = "j-1") => send("heartbeat", id),
    change: (members: object, id = "j-2") => send("change", id, { kind: "key", ...members }),
    cut: () => stream!.close(),
    hold: (until: Promise<void> | undefined) => void (delay = until),
  };
}

const OTHER = "agent://acme/other";

describe("a gateway that follows changes", () => {
  beforeEach(() => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance", "Date"] });
  });
  afterEach(() => vi.useRealTimers());

  async function follow() {
    const service = openService();
    const gate = open(service.fetch, { follow: true });
    const ask = async (level: "L1" | "L3" = "L3", agent = AGENT) =>
      (await settle(gate.ask(level, 0, agent))).isCached;
    const pass = async (ms: number) => {
      for (let passed = 0; passed < ms; passed += 1000) {
        await service.beat();
        await vi.advanceTimersByTimeAsync(1000);
      }
    };
    await ask();
    await service.beat();
    gate.gateway.forget();
    return { ...service, ...gate, ask, pass };
  }

  it("drops what a change outdates and nothing else", async () => {
    const { ask, change, gateway } = await follow();
    const state = async () => [await ask(), await ask("L3", OTHER)];
    await state();
    expect(await state()).toEqual([true, true]);
    await change({ agent: AGENT });
    expect(await state()).toEqual([false, true]);
    await change({ namespace: "acme" });
    expect(await state()).toEqual([false, false]);
    await change({ namespace: "other" });
    expect(await state()).toEqual([true, true]);
    await change({ kind: "of a later release" });
    expect(await state()).toEqual([false, false]);
    gateway.close();
  });

  it("does not keep an answer that was on its way when the change came", async () => {
    const { gateway, ask, change, hold, state } = await follow();
    const { promise, resolve } = Promise.withResolvers<void>();
    hold(promise);
    const before = gateway.authorize({ agentId: AGENT, action: "a.b", toolLevel: "L3" });
    await vi.advanceTimersByTimeAsync(0);
    state.word = "BLOCK";
    await change({ agent: AGENT });
    resolve();
    hold(undefined);
    expect((await settle(before)).word).toBe("ALLOW");
    expect(await ask()).toBe(false);
    gateway.close();
  });

  it("five minutes while the feed is heard, ten seconds at L2 and L3 while it is silent", async () => {
    const { ask, pass, gateway, beat } = await follow();
    await ask();
    await ask("L1");
    await pass(60_000);
    expect(await ask()).toBe(true);
    // Opened again after five seconds of silence, and silent still.
    await vi.advanceTimersByTimeAsync(4000);
    expect([await ask(), await ask("L1")]).toEqual([false, true]);
    await vi.advanceTimersByTimeAsync(6500);
    expect([await ask(), await ask("L1")]).toEqual([true, true]);
    await vi.advanceTimersByTimeAsync(1000);
    expect([await ask(), await ask("L1")]).toEqual([false, true]);
    await pass(20_000);
    expect(await ask()).toBe(true);
    await beat();
    gateway.close();
  });

  it("resumes from the last position, and drops all when it is gone", async () => {
    const { ask, beat, cut, change, sinces, state, gateway } = await follow();
    await ask();
    await change({ agent: OTHER }, "j-7");
    cut();
    await vi.advanceTimersByTimeAsync(300);
    expect(sinces).toEqual([null, "j-7"]);
    await beat("j-8");
    expect(await ask()).toBe(true);
    state.status = 410;
    cut();
    await vi.advanceTimersByTimeAsync(300);
    state.status = 200;
    await vi.advanceTimersByTimeAsync(300);
    // The pauses are drawn by chance: it may have asked with 410 once more.
    expect(sinces.slice(0, 3)).toEqual([null, "j-7", "j-8"]);
    expect(new Set(sinces.slice(3))).toEqual(new Set([null]));
    expect(await ask()).toBe(false);
    gateway.close();
  });

  it("without a feed verdicts live five minutes", async () => {
    for (const status of [404, 403, 401]) {
      const service = openService();
      service.state.status = status;
      const { ask, gateway } = open(service.fetch, { follow: true });
      await settle(ask("L3"));
      await vi.advanceTimersByTimeAsync(4 * 60_000);
      expect((await settle(ask("L3"))).isCached).toBe(true);
      // It looks for one again, about once a minute.
      expect(service.sinces.length).toBeGreaterThan(3);
      expect(service.sinces.length).toBeLessThan(12);
      gateway.close();
    }
  });

  it("what was asked before the feed began lives ten seconds", async () => {
    const service = openService();
    const { ask, gateway } = open(service.fetch, { follow: true });
    await settle(ask("L3"));
    for (let second = 0; second < 8; second += 1) {
      await service.beat();
      await vi.advanceTimersByTimeAsync(1000);
    }
    await service.beat();
    expect((await settle(ask("L3"))).isCached).toBe(true);
    await service.beat();
    expect((await settle(ask("L3"))).isCached).toBe(false);
    gateway.close();
  });
});

it("keeps no process alive", async () => {
  const server = http.createServer((request, response) => {
    if (request.url!.startsWith("/v1/changes")) {
      response.writeHead(200, { "Content-Type": "text/event-stream" });
      response.write('id: j-1\nevent: heartbeat\ndata: {"position":"j-1"}\n\n');
    } else {
      response.writeHead(200, { "Content-Type": "application/json", Connection: "close" });
      response.end(JSON.stringify(verifyReply()));
    }
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  const at = (file: string) => new URL(`../../../src/client/${file}`, import.meta.url).href;
  const program = `
    import { TrustRankClient } from ${JSON.stringify(at("client.ts"))};
    import { TrustGateway } from ${JSON.stringify(at("gateway/gateway.ts"))};
    const client = new TrustRankClient({ baseUrl: "http://127.0.0.1:${port}", timeoutMs: 60000 });
    const heard = new Promise((resolve) => client.followChanges({ onChange() {}, onGap() {}, onStart: resolve }));
    const gateway = new TrustGateway({ client });
    const held = setInterval(() => undefined, 1000);
    const answer = await gateway.authorize({ agentId: "agent://a/b", action: "a.b", toolLevel: "L0" });
    await heard;
    clearInterval(held);
    console.log(answer.word);
  `;
  const flags = ["--disable-warning=ExperimentalWarning", "--input-type=module", "-e", program];
  const { stdout } = await promisify(execFile)(process.execPath, flags);
  expect(stdout).toBe("ALLOW\n");
  server.closeAllConnections();
  server.close();
});

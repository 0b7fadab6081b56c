// Deadlines, load and the end: what was accepted is answered, what cannot be answered in time says
// so, and a drained server leaves nothing behind.
import { describe, expect, it } from "vitest";
import { assertBinaryHash } from "../../src/http/server/uws-binary.ts";
import { startHttpServer } from "../../src/http/start.ts";
import { DurationEstimate } from "../../src/http/application.ts";
import { WAIT_MS_MAX } from "../_patience.ts";
import { call, problemIn } from "./_client.ts";
import {
  ADAPTERS,
  CHECK_BODY,
  describeAdapters,
  openTestServer,
  OUTCOME_BODY,
  sendRaw,
  statusesOf,
  VERIFY_BODY,
} from "./_setup.ts";
import { notesTo, RowStore } from "./_row-store.ts";

/** A promise and its switch. */
function gate(): { promise: Promise<void>; open: () => void } {
  let open = (): void => undefined;
  const promise = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { promise, open };
}

describeAdapters("lifecycle", (adapter) => {
  it("answers 503 when an asynchronous answer misses the caller's deadline", async () => {
    const service = await openTestServer(adapter);
    const { promise, open } = gate();
    service.bureau.hold = promise;
    const headers = { "x-deadline-ms": "60" };
    const answer = await call(service, "/v1/outcomes", { body: OUTCOME_BODY, headers });
    expect([answer.status, problemIn(answer).code]).toEqual([503, "deadline_exceeded"]);
    expect(answer.headers.get("retry-after")).toBe("1");
    // The outcome may still be recorded: the late answer must not reach a finished response.
    open();
    await expect.poll(() => service.bureau.recorded.length).toBe(1);
    expect((await call(service, "/v1/check", { body: CHECK_BODY })).status).toBe(200);
    expect(service.logged).toEqual([]);
    await service.stop();
  });

  it("answers 503 by itself when nobody else would ever answer", async () => {
    // Nearly all of the two seconds pass between the question and the first look at the clock.
    let nowMs = 0;
    const service = await openTestServer(adapter, { monotonic: () => (nowMs += 1990) });
    const body = { ...VERIFY_BODY, agent_id: "agent://test/never" };
    const answer = await call(service, "/v1/trust/verify", { body });
    expect([answer.status, problemIn(answer).code]).toEqual([503, "deadline_exceeded"]);
    await service.stop();
  });

  it("refuses at once a deadline that recent answers would have missed", async () => {
    let nowMs = 1;
    const service = await openTestServer(adapter, { monotonic: () => nowMs });
    const { promise, open } = gate();
    service.bureau.hold = promise;
    const slow = call(service, "/v1/outcomes", { body: OUTCOME_BODY });
    await expect.poll(() => service.server.inflight).toBe(1);
    nowMs += 400;
    open();
    await slow;
    service.bureau.calls.recordOutcome = 0;
    const headers = { "x-deadline-ms": "5" };
    const answer = await call(service, "/v1/outcomes", { body: OUTCOME_BODY, headers });
    expect(problemIn(answer).code).toBe("deadline_exceeded");
    expect(service.bureau.calls.recordOutcome).toBe(0);
    await service.stop();
  });

  it("drains: answers what it accepted, closes connections, takes no new ones", async () => {
    const service = await openTestServer(adapter);
    const { promise, open } = gate();
    service.bureau.hold = promise;
    const accepted = Array.from({ length: 20 }, (_, index) =>
      call(service, "/v1/outcomes", { body: { ...OUTCOME_BODY, id: `d-${index}` } }),
    );
    const { port } = service.server;
    const request = (path: string) =>
      `GET ${path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${service.key}\r\n\r\n`;
    const { promise: draining, resolve: drain } = Promise.withResolvers<void>();
    const pieces = [request("/healthz"), draining, request("/readyz")];
    let before = "";
    const onText = (text: string) => (before = text);
    const onOldConnection = sendRaw(port, pieces, { until: "closed", onText });
    await expect.poll(() => service.server.inflight).toBe(20);
    await expect.poll(() => statusesOf(before)).toEqual([200]);
    service.server.stopAccepting();
    const closing = service.server.close(WAIT_MS_MAX);
    drain();
    const old = await onOldConnection;
    if (adapter === "uws") {
      expect(statusesOf(old.text)).toEqual([200, 503]);
      expect(old.text).toContain('"draining"');
    }
    expect(old.isClosed).toBe(true);
    open();
    const answers = await Promise.all(accepted);
    expect(answers.map((answer) => answer.status)).toEqual(Array(20).fill(201));
    for (const answer of answers) expect(answer.headers.get("connection")).toBe("close");
    await closing;
    expect(service.server.inflight).toBe(0);
    await expect(sendRaw(port, [request("/healthz")])).rejects.toThrow(/ECONNREFUSED/);
    await service.stop();
  });

  it("drains first: still takes connections, is not ready, ends each with its reply", async () => {
    const service = await openTestServer(adapter);
    const { port } = service.server;
    const request = (path: string) => `GET ${path} HTTP/1.1\r\nHost: x\r\n\r\n`;
    service.server.drain();
    const ready = await sendRaw(port, [request("/readyz")], { until: "closed" });
    expect([statusesOf(ready.text), ready.isClosed]).toEqual([[503], true]);
    const alive = await sendRaw(port, [request("/livez")], { until: "closed" });
    expect([statusesOf(alive.text), alive.isClosed]).toEqual([[200], true]);
    expect((await call(service, "/v1/check", { body: CHECK_BODY })).status).toBe(200);
    service.server.stopAccepting();
    await expect(sendRaw(port, [request("/livez")])).rejects.toThrow(/ECONNREFUSED/);
    await service.stop();
  });

  it("drains under load: every request that got through is answered whole", async () => {
    const service = await openTestServer(adapter);
    const statuses: number[] = [];
    const load = Array.from({ length: 8 }, async () => {
      for (;;) {
        try {
          const answer = await call(service, "/v1/check", { body: CHECK_BODY });
          statuses.push(answer.status);
          expect(answer.json.allowed).toBe(true);
        } catch (error) {
          // Refused or reset before acceptance; a half answer would have failed to parse instead.
          expect(error).toBeInstanceOf(TypeError);
          return;
        }
      }
    });
    await expect.poll(() => statuses.length).toBeGreaterThan(50);
    const closing = service.server.close(WAIT_MS_MAX);
    await closing;
    await Promise.all(load);
    expect(new Set(statuses)).toEqual(new Set([200]));
    await service.stop();
  });

  it("gives up waiting after the grace period", async () => {
    const service = await openTestServer(adapter);
    service.bureau.hold = new Promise(() => undefined);
    const pending = call(service, "/v1/outcomes", { body: OUTCOME_BODY }).catch(() => "cut");
    await expect.poll(() => service.server.inflight).toBe(1);
    await service.server.close(50);
    expect(await pending).toBe("cut");
    await service.stop();
  });

  it("refuses a port that is taken", async () => {
    const service = await openTestServer(adapter);
    await expect(openTestServer(adapter, { port: service.server.port })).rejects.toThrow(
      /port|EADDRINUSE/,
    );
    expect((await call(service, "/healthz")).status).toBe(200);
    await service.stop();
  });
});

describe("the choice of adapter", () => {
  it.each(ADAPTERS)("serves with %s when asked to", async (adapter) => {
    const service = await openTestServer(adapter);
    expect(service.server.adapter).toBe(adapter);
    await service.stop();
  });

  it("prefers the native server where its binary is known", async () => {
    const service = await openTestServer("node");
    const logger = { info() {}, warn() {}, error() {} };
    const server = await startHttpServer({
      adapter: "auto",
      host: "127.0.0.1",
      port: 0,
      bureau: service.bureau,
      keyring: service.keyring,
      store: new RowStore(),
      notes: notesTo(undefined),
      clock: () => service.clock.nowMs,
      logger,
      health: { isReady: () => service.readiness },
      version: "0",
    });
    const isKnown = process.versions.modules === "127";
    expect(server.adapter).toBe(isKnown ? "uws" : "node");
    await server.close(0);
    await service.stop();
  });

  it("does not load a binary with another hash", () => {
    expect(() => assertBinaryHash(process.execPath, "00".repeat(32))).toThrow(/has hash/);
  });
});

describe("DurationEstimate", () => {
  it("learns from answers and forgets with refusals", () => {
    const estimate = new DurationEstimate();
    expect(estimate.isBeyond(1)).toBe(false);
    for (let index = 0; index < 50; index += 1) estimate.add(100);
    expect(estimate.isBeyond(50)).toBe(true);
    expect(estimate.isBeyond(150)).toBe(false);
    let refusals = 0;
    while (estimate.isBeyond(50)) refusals += 1;
    expect(refusals).toBeLessThan(10);
  });
});

// Watch over requests, over both servers: which are watched, what is known of them, when they are handed
// on, and that it has bounds.
import { ROOT_CONTEXT } from "@opentelemetry/api";
import { SamplingDecision, TraceIdRatioBasedSampler } from "@opentelemetry/sdk-trace";
import fc from "fast-check";
import { expect, it } from "vitest";
import {
  isTraceSampled,
  RequestWatch,
  WATCHED_PER_SECOND_MAX,
  type WatchedBatch,
  type WatchedRequest,
  type WatchShares,
} from "../../src/http/request-watch.ts";
import { describeAdapters, openTestServer, START_MS } from "./_setup.ts";

const TRACE = "4bf92f3577b34da6a3ce929d0e0e4736";
const PARENT = "00f067aa0ba902b7";
const VERIFY = {
  agent_id: "agent://a/x",
  action: "order.place",
  tool_level: "L2",
  context: {},
};

function watchOf(shares: WatchShares, draws: () => number = () => 0) {
  const batches: WatchedBatch[] = [];
  let nowMs = 0;
  const watch = new RequestWatch({
    shares,
    clock: () => START_MS,
    monotonic: () => (nowMs += 1),
    random: draws,
    deliver: (batch) => batches.push(batch),
  });
  const requests = (): WatchedRequest[] => {
    watch.flush();
    return batches.splice(0).flatMap((batch) => batch.requests);
  };
  return { watch, batches, requests };
}

describeAdapters("the request watch", (adapter) => {
  async function serve(shares: WatchShares, draws?: () => number) {
    const watching = watchOf(shares, draws);
    const service = await openTestServer(adapter, { watch: watching.watch });
    const ask = (path: string, headers: Record<string, string> = {}, body?: unknown) =>
      fetch(service.base + path, {
        method: body === undefined ? "GET" : "POST",
        headers: {
          authorization: `Bearer ${service.key}`,
          "content-type": "application/json",
          ...headers,
        },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      });
    return { ...watching, service, ask };
  }

  it("knows of every request how it ended and for whom", async () => {
    const { service, ask, requests } = await serve({ logged: 1 });
    await ask("/v1/trust/verify", { traceparent: `00-${TRACE}-${PARENT}-00` }, VERIFY);
    await ask("/v1/trust/verify", {}, { agent_id: 7 });
    await ask("/v1/agents/agent:%2F%2Fa%2Fx", { authorization: "Bearer none" });
    await ask("/nowhere");
    await ask("/livez", { authorization: "" });
    const found = requests();
    const ended = found.map(({ method, route, routePath, status, code, tenant }) =>
      [method, route, routePath, status, code, tenant].map(String).join(" "),
    );
    expect(ended).toEqual([
      "POST verify /v1/trust/verify 200 undefined acme",
      "POST verify /v1/trust/verify 400 invalid_request acme",
      "GET explain /v1/agents/{id} 401 unauthenticated undefined",
      "GET unmatched undefined 404 not_found undefined",
      "GET livez /livez 200 undefined undefined",
    ]);
    expect(found[0]).toMatchObject({
      isLogged: true,
      spanId: undefined,
      traceId: TRACE,
      startedMs: START_MS,
      keyId: expect.stringMatching(/^\w{10}$/),
      requestId: expect.stringMatching(/^0\w{7}-/),
    });
    for (const { durationMs } of found) expect(durationMs).toBeGreaterThan(0);
    await service.stop();
  });

  it("watches the share that is drawn", async () => {
    const draws = [0.001, 0.009, 0.01, 0.5];
    const { service, ask, requests } = await serve({ logged: 0.01 }, () => draws.shift() ?? 1);
    for (let n = 0; n < 4; n += 1) await ask("/livez");
    expect(requests()).toHaveLength(2);
    await service.stop();
  });

  it("makes a span as the caller decided, under the caller's trace", async () => {
    const traced = { share: 1, isParentBased: true };
    const { service, ask, requests } = await serve({ logged: 0, traced });
    await ask("/v1/trust/verify", { traceparent: `00-${TRACE}-${PARENT}-01` }, VERIFY);
    await ask("/v1/trust/verify", { traceparent: `00-${TRACE}-${PARENT}-00` }, VERIFY);
    await ask("/v1/trust/verify", {}, VERIFY);
    const [sampled, own, none] = requests();
    expect(none).toBeUndefined();
    expect(sampled).toMatchObject({ isLogged: false, traceId: TRACE, parentId: PARENT });
    expect(sampled!.spanId).toMatch(/^[0-9a-f]{16}$/);
    expect(own).toMatchObject({ parentId: undefined });
    expect(own!.traceId).toMatch(/^[0-9a-f]{32}$/);
    // The decision that it came to is found by the same id.
    expect(service.bureau.traces).toEqual([TRACE, TRACE, own!.traceId]);
    await service.stop();
  });
});

it("hands on in batches, and drops what is too much for a second", () => {
  const { watch, batches } = watchOf({ logged: 1 });
  // A clock that stands: all in one second.
  const still = new RequestWatch({
    shares: { logged: 1 },
    clock: () => START_MS,
    monotonic: () => 500,
    random: () => 0,
    deliver: (batch) => batches.push(batch),
  });
  const head = { method: "GET", traceparent: undefined } as never;
  const named = {
    principal: { keyId: "k", tenant: "t" },
    requestId: "r",
    traceId: "",
    routeIndex: 0,
  };
  const reply = { status: 503, headers: [], body: '{"code":"overloaded"}' };
  for (let n = 0; n < WATCHED_PER_SECOND_MAX + 7; n += 1) {
    still.endAtOnce(head, [{ name: "verify", path: "/v" }] as never, named, reply);
  }
  still.flush();
  watch.flush();
  expect(batches.every(({ requests }) => requests.length <= 64)).toBe(true);
  const taken = batches.flatMap(({ requests }) => requests);
  expect(taken).toHaveLength(WATCHED_PER_SECOND_MAX);
  expect(taken[0]).toMatchObject({ code: "overloaded", route: "verify", tenant: "t" });
  expect(batches.reduce((sum, { droppedCount }) => sum + droppedCount, 0)).toBe(7);
});

it("chooses by a trace's id as the SDK does", () => {
  const digit = fc.constantFrom(...Array.from("0123456789abcdef"));
  const id = fc.string({ unit: digit, minLength: 32, maxLength: 32 });
  fc.assert(
    fc.property(id, fc.double({ min: 0, max: 1, noNaN: true }), (traceId, share) => {
      fc.pre(/[^0]/.test(traceId));
      const { decision } = new TraceIdRatioBasedSampler(share).shouldSample(ROOT_CONTEXT, traceId);
      expect(isTraceSampled(traceId, share)).toBe(decision === SamplingDecision.RECORD_AND_SAMPLED);
    }),
    { numRuns: 1000 },
  );
});

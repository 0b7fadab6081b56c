// The back-test's routes over both servers, on a real journal and a real thread: figures, list,
// page, what a document may say, and that nothing in force changes.
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { TenantPolicies } from "../../../src/bureau/policies.ts";
import type { Backtest } from "../../../src/contract/schemas/backtest.ts";
import { resolveDataPaths } from "../../../src/journal/data-directory.ts";
import { BacktestService } from "../../../src/kaizen/service/backtests.ts";
import { PolicyBook } from "../../../src/policy/policy-book.ts";
import { openStage, outcomesOf } from "../../kaizen/_service.ts";
import type { Stage } from "../../kaizen/_service.ts";
import { call, problemIn } from "../_client.ts";
import { ADAPTERS, openTestServer, START_MS } from "../_setup.ts";
import type { TestServer } from "../_setup.ts";

const ROUTE = "/v1/policy/backtest";
const COUNT = 300;
const LOOSE = {
  levels: {
    L1: { thin: "allow" },
    L2: { allow_up_to: 0.3, thin: "allow" },
    L3: { allow_up_to: 0.2, thin: "allow" },
  },
  stakes: { tolerated_loss_bps: 5000 },
};
const silent = { info: () => undefined, warn: () => undefined, error: () => undefined };

describe.each(ADAPTERS)("back-tests over %s", (adapter) => {
  let stage: Stage;
  let service: TestServer;
  let backtests: BacktestService;
  const book = new PolicyBook();

  beforeAll(async () => {
    stage = await openStage();
    await stage.ledger.appendBatch(outcomesOf(3, COUNT));
    backtests = new BacktestService({
      dataDir: stage.dataDir,
      journal: resolveDataPaths(stage.dataDir).journal,
      ledger: stage.ledger,
      policies: book,
      weights: () => stage.kaizen.weights(),
      clock: () => START_MS,
      log: silent,
    });
    const policies = new TenantPolicies({
      log: { appendPolicy: async () => 1 },
      book,
      onPolicy: () => undefined,
      clock: () => START_MS,
    });
    service = await openTestServer(adapter, { policies, backtests });
  });
  afterAll(async () => {
    await service?.stop();
    await backtests?.close();
    await stage?.kaizen.close();
    await stage?.ledger.close();
  });

  const asAdmin = (path: string, body?: unknown, headers: Record<string, string> = {}) =>
    call(service, path, { key: service.admin, headers, ...(body === undefined ? {} : { body }) });

  it("tries a policy, lists it, shows it as data and as a page, and changes nothing", async () => {
    const live = book.findActivePolicy("acme").version;
    const answer = await asAdmin(`${ROUTE}?tenant=acme`, { policy: LOOSE });
    expect(answer.status).toBe(200);
    const made = answer.json as Backtest;
    expect(made).toMatchObject({
      state: "done",
      tenant: "acme",
      live_version: live,
      position: COUNT,
      outcomes: COUNT,
    });
    expect(made.given_version).not.toBe(live);
    const rowOf = (policy: string) =>
      made.findings!.rows.find(
        (row) => row.policy === policy && row.level === "L2" && row.question === "verify",
      )!;
    expect(rowOf("given").good_allowed).toBeGreaterThan(rowOf("live").good_allowed);
    expect(book.findActivePolicy("acme").version).toBe(live);

    const list = await asAdmin("/v1/policy/backtests");
    const { findings: _f, live: _l, given: _g, warnings: _w, ...summary } = made;
    expect(list.json.backtests[0]).toEqual(summary);
    const path = `/v1/policy/backtests/${made.backtest_id}`;
    expect((await asAdmin(path)).json).toEqual(made);
    const page = await asAdmin(path, undefined, {
      accept: "text/html,application/xhtml+xml,*/*;q=0.8",
    });
    expect(page.headers.get("content-type")).toBe("text/html; charset=utf-8");
    expect(page.text).toContain("<!doctype html>");
    const packed = await asAdmin(path, undefined, { accept: "application/msgpack" });
    expect(packed.headers.get("content-type")).toBe("application/msgpack");
  });

  it("takes the document that the policy is shown as, and the live policy alone", async () => {
    const shown = await asAdmin("/v1/policy?tenant=acme");
    const [same, alone] = [
      await asAdmin(`${ROUTE}?tenant=acme`, { policy: shown.json }),
      await asAdmin(`${ROUTE}?tenant=acme`, {}),
    ];
    expect(same.json.given_version).toBe(shown.json.version);
    const changes = same.json.findings.changes as Record<string, unknown>[];
    const moved = changes.flatMap((change) =>
      Object.values(change).filter((value) => typeof value === "number"),
    );
    expect(new Set(moved)).toEqual(new Set([0]));
    expect(alone.json).toMatchObject({
      given_version: null,
      findings: { changes: [], agents: [] },
    });
    const put = { ...shown.json, policy: { ...shown.json.policy, ...LOOSE } };
    const set = await call(service, "/v1/policy?tenant=other", {
      key: service.admin,
      method: "PUT",
      body: put,
    });
    expect(set.json.policy.levels.L2.allow_up_to).toBe(0.3);
  });

  it("answers at once when asked not to wait, and makes one at a time", async () => {
    const started = await asAdmin(ROUTE, { wait: false });
    expect([started.status, started.json.state]).toEqual([202, "running"]);
    const second = await asAdmin(ROUTE, {});
    expect(problemIn(second)).toMatchObject({ code: "backtest_running", status: 429 });
    expect(second.headers.get("retry-after")).toBe("2");
    const list = await asAdmin("/v1/policy/backtests");
    expect(list.json.running.backtest_id).toBe(started.json.backtest_id);
    const path = `/v1/policy/backtests/${started.json.backtest_id}`;
    await expect.poll(async () => (await asAdmin(path)).json.state).toBe("done");
  });

  it("judges a window, open or closed", async () => {
    const [from, to] = ["2026-01-01T00:00:00Z", "2026-03-01T00:00:00Z"];
    const within = await asAdmin(ROUTE, { from, to: Date.parse(to) });
    const inWindow = outcomesOf(3, COUNT).filter(
      ({ settledAtMs }) => settledAtMs >= Date.parse(from) && settledAtMs < Date.parse(to),
    );
    expect(within.json.outcomes).toBe(inWindow.length);
    expect(within.json).toMatchObject({ from: "2026-01-01T00:00:00.000Z" });
    const empty = await asAdmin(ROUTE, { to: "2020-01-01T00:00:00Z" });
    expect(empty.json.outcomes).toBe(0);
    expect(empty.json.warnings).toEqual(["no outcome that counts settled in this window"]);
  });

  it.each([
    [{ polcy: {} }, ["/polcy"]],
    [
      { policy: { levels: { L2: { allow: 1 }, L9: {} } } },
      ["/policy/levels/L9", "/policy/levels/L2/allow"],
    ],
    [{ policy: { levels: { L3: { allow_up_to: 0.9 } } } }, ["/policy/levels/L3/allow_up_to"]],
    [
      { policy: { policy: { levels: { L3: { allow_up_to: 0.9 } } } } },
      ["/policy/policy/levels/L3/allow_up_to"],
    ],
    [{ policy: { policy: {}, levels: {} } }, ["/policy/levels"]],
    [{ from: "yesterday", wait: 1 }, ["/from", "/wait"]],
    [{ from: 2000, to: 2000 }, ["/to"]],
  ])("refuses %j at %j", async (body, pointers) => {
    const problem = problemIn(await asAdmin(ROUTE, body));
    expect(problem.code).toBe("invalid_request");
    expect(problem.errors?.map(({ pointer }) => pointer)).toEqual(pointers);
  });

  it("is an administrator's, knows no strange id, and is not there without a service", async () => {
    const reader = await service.makeKey(["score:read"]);
    for (const [path, body] of [
      [ROUTE, {}],
      ["/v1/policy/backtests"],
      ["/v1/policy/backtests/b-1"],
    ] as const) {
      const refused = await call(service, path, { key: reader, ...(body && { body }) });
      expect(problemIn(refused).code).toBe("insufficient_scope");
    }
    for (const id of ["b-20260101-000000000", "..%2Fkeys", "nothing"]) {
      expect(problemIn(await asAdmin(`/v1/policy/backtests/${id}`)).code).toBe("not_found");
    }
    const page = { accept: "text/html" };
    const missing = await asAdmin("/v1/policy/backtests/b-20260101-000000000", undefined, page);
    expect(problemIn(missing).code).toBe("not_found");
    const picture = await asAdmin("/v1/policy/backtests/b-1", undefined, { accept: "image/png" });
    expect(problemIn(picture).code).toBe("not_acceptable");
    const bare = await openTestServer(adapter);
    const answer = await call(bare, ROUTE, { key: bare.admin, body: {} });
    expect(problemIn(answer).code).toBe("not_found");
    await bare.stop();
  });
});

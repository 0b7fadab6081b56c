// Queries of different tenants side by side in one process: a long one holds up nobody, and what one does to
// the memory of all is not the others' fault.
import * as fs from "node:fs";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { ServiceFault } from "../../../src/contract/faults.ts";
import type { JournalFollower } from "../../../src/store/journal-follower.ts";
import { catchUp, fillJournal, openStoreCore } from "../_fixtures.ts";
import { SandboxProcess, SharedProcessLost } from "../../../src/store/sandbox/process.ts";
import { openSandbox, type OpenSandbox } from "./_sandbox.ts";

const LONG = "SELECT sum(a.range * b.range) FROM range(100000000) a, range(100000) b";
/** 190,000 characters a row in one list, which DuckDB does not put on the disk. */
const TEXT = `(SELECT string_agg('${"1234567890".repeat(19)}', '') AS s FROM range(1000))`;
const GREEDY = `SELECT len(list(s || range)) FROM ${TEXT}, range(1000000)`;
const LONG_MS = 8000;

let core: JournalFollower;
let opened: OpenSandbox;
let dataDir: string;

beforeAll(async () => {
  dataDir = fs.mkdtempSync("/tmp/trustrank-side-");
  fillJournal(dataDir, 1, 100);
  ({ core } = openStoreCore(dataDir));
  await catchUp(core, 100);
  opened = openSandbox(core, dataDir);
  await opened.ask("SELECT 1");
});
afterAll(async () => {
  await opened.sandbox.end();
  await core.close();
  fs.rmSync(dataDir, { recursive: true });
});

const faultOf = (asked: Promise<unknown>): Promise<ServiceFault> =>
  asked.then(
    () => expect.fail("it was answered"),
    (fault: ServiceFault) => fault,
  );

test("two long queries hold up neither one another nor a third tenant's short one", async () => {
  let ended = 0;
  const long = ["one", "two"].map((tenant) =>
    faultOf(opened.ask(LONG, tenant, LONG_MS)).finally(() => (ended += 1)),
  );
  const startedAt = performance.now();
  for (let n = 0; n < 3; n++) {
    expect(await opened.ask("SELECT count(*) FROM outcomes", "short")).toEqual([[0]]);
  }
  expect(ended).toBe(0);
  for (const fault of await Promise.all(long)) {
    expect(fault).toMatchObject({ errors: [{ code: "timeout" }] });
  }
  // Side by side, not one behind the other.
  expect(performance.now() - startedAt).toBeLessThan(2 * LONG_MS);
});

test("a query that finds no memory runs again without the other, which is answered", async () => {
  const beside = faultOf(opened.ask(LONG, "beside", LONG_MS));
  const startedAt = performance.now();
  const fault = await faultOf(opened.ask(GREEDY, "greedy", LONG_MS));
  expect(fault).toMatchObject({ errors: [{ code: "memory" }] });
  expect(await beside).toMatchObject({ errors: [{ code: "timeout" }] });
  // Not before the other one had ended: all the memory was its own then.
  expect(performance.now() - startedAt).toBeGreaterThan(LONG_MS - 1000);
  expect(await opened.ask("SELECT 42", "beside")).toEqual([[42]]);
});

/** A process of which the test says when it ends, and the tenants that it has to wait for. */
function openFake() {
  const ended = Promise.withResolvers<string>();
  const tenants: string[] = [];
  const silent = { send: () => undefined, kill: () => undefined, memoryBytes: () => 0 };
  const process = new SandboxProcess(
    () => ({ ...silent, whenEnded: ended.promise }),
    (tenant) => tenants.push(tenant),
  );
  const call = (tenant: string, isAlone?: () => boolean) =>
    process
      .call({ name: "cancelQuery", handle: "" }, LONG_MS, {
        tenant,
        limitMs: 1,
        ...(isAlone && { isAlone }),
      })
      .catch((error: unknown) => error);
  return { call, end: () => ended.resolve("exit code 1"), tenants };
}

test("of several calls that may have ended the process those are struck that ran alone", async () => {
  const { call, end, tenants } = openFake();
  const lost = [call("query", () => false), call("alone", () => true), call("stream")];
  end();
  const [query, ...others] = await Promise.all(lost);
  expect(query).toBeInstanceOf(SharedProcessLost);
  for (const other of others) expect(other).not.toBeInstanceOf(SharedProcessLost);
  expect(tenants).toEqual(["alone", "stream"]);
});

test("a single call is at fault, whatever ran beside it earlier", async () => {
  const { call, end, tenants } = openFake();
  const lost = call("query", () => false);
  end();
  expect(await lost).toMatchObject({ errors: [{ code: "memory" }] });
  expect(tenants).toEqual(["query"]);
});

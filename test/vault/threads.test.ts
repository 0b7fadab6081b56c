// Readers on threads of their own while pages are replaced and revoked under them: every answer is
// one that some version of that very page gives, and memory is used again all the while.
import { once } from "node:events";
import { Worker } from "node:worker_threads";
import { expect, it } from "vitest";

import { contextOf, PAGES, pageText } from "./_churn.ts";
import { ACME, itemOf, openVault } from "./_setup.ts";
import { WAIT_MS_MAX } from "../_patience.ts";

const VERSIONS = 1500;
const READERS = 2;
const CALLS_MIN = 2000;

it("never shows a reader another page's index, and uses memory again", async () => {
  const { vault, assessor } = openVault();
  let written = 0;
  const put = (page: number, version: number) => {
    const text = pageText(page, version);
    written += text.length;
    return vault.register([itemOf(`page-${page}`, text)], ACME);
  };
  for (let page = 0; page < PAGES; page++) await put(page, 1);
  // The pages are as far apart as the test needs them to be.
  const strange = { ...contextOf(0), cited_sources: ["page-1"] };
  expect(assessor.assess(contextOf(0), "acme").reasonCode).toBe("");
  expect(assessor.assess(strange, "acme").reasonCode).toBe("CITATION_MISMATCH");

  const control = new Int32Array(new SharedArrayBuffer(8));
  const workerData = { memory: vault.memory, control };
  const entry = new URL("./_reader-thread.ts", import.meta.url);
  const readers = Array.from({ length: READERS }, () => new Worker(entry, { workerData }));
  const answers = readers.map((reader) => once(reader, "message") as Promise<[object]>);
  const started = Date.now();
  for (let version = 2; version < VERSIONS || Atomics.load(control, 1) < CALLS_MIN; version++) {
    const page = version % PAGES;
    await put(page, version);
    if (version % 10 === 0) await vault.revoke(`page-${page}`, ACME);
    // Lets the readers in, wherever there is but one core.
    if (version % 50 === 0) await new Promise((resolve) => setImmediate(resolve));
    if (Date.now() - started > WAIT_MS_MAX) break;
  }
  Atomics.store(control, 0, 1);
  const seen = (await Promise.all(answers)).flatMap(([each]) => Object.keys(each));
  expect(Atomics.load(control, 1)).toBeGreaterThanOrEqual(CALLS_MIN);
  expect([...new Set(seen)].toSorted()).toEqual([
    " SOURCE_VERIFIED",
    "SOURCE_REVOKED SOURCE_REVOKED",
  ]);
  // An index takes more than its text, so without reuse this would be far more than was written. A
  // reader that the system stopped in the middle of an answer holds up what was taken down since.
  expect(written).toBeGreaterThan(3_000_000);
  expect(vault.indexBytes).toBeLessThan(written / 2);
});

// Monthly quotas over real processes with two HTTP threads: a quota that one thread's reads use up ends
// the other's too, within a moment; it outlives a kill and holds what was read before.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, it } from "vitest";
import { endAll, runCommand } from "../../cli/_process.ts";
import { stretched, WAIT_MS_MAX } from "../../_patience.ts";
import { type Answer, type Connection, connectToBoth, startThreads } from "./_service.ts";

const folder = mkdtempSync(join(tmpdir(), "trustrank-quotas-"));
const dataDir = join(folder, "data");
const CHECK = { subject: "agent://acme/ledger-sync", stakes: 5 };
const LIMIT = 40;

afterAll(async () => {
  await endAll();
  rmSync(folder, { recursive: true, force: true });
});

const quotaOf = async (admin: Connection) =>
  ((await admin.ask("/v1/quotas")).json.quotas as { tenant: string; used: number }[])[0];

it("one quota for all threads: used up, refused, raised, kept over a kill", async () => {
  let service = await startThreads(dataDir, {});
  let both = await connectToBoth(service.url);
  const scopes = ["score:read"];
  const made = await both[0].ask("/v1/keys", { body: { tenant: "acme", scopes } });
  const { key } = made.json as { key: string };
  const read = (connection: Connection) => connection.ask("/v1/check", { key, body: CHECK });
  expect((await read(both[0])).headers["ratelimit"], "no quota, no word of one").toBeUndefined();

  const body = { paid_reads_per_month: LIMIT };
  const set = await both[1].ask("/v1/quotas/acme", { method: "PUT", body });
  expect([set.status, set.json]).toMatchObject([200, { tenant: "acme", ...body, used: 1 }]);
  // Each thread once; the refusal comes a moment after the last read that is paid.
  for (let n = 1; n < LIMIT; n++) {
    const { status, headers } = await read(both[n % 2]!);
    expect(status).toBe(200);
    expect(headers["ratelimit-policy"]).toBe(
      `"month";q=${LIMIT};w=${/w=(\d+)/.exec(String(headers["ratelimit-policy"]))?.[1]}`,
    );
  }
  const refusals: Answer[] = [];
  const usedUpMs = performance.now();
  for (const connection of both) {
    const refused = async () => {
      const answer = await read(connection);
      if (answer.status === 429) refusals.push(answer);
      return answer.status;
    };
    await expect.poll(refused, { timeout: WAIT_MS_MAX, interval: 20 }).toBe(429);
  }
  expect(performance.now() - usedUpMs, "within a second or so").toBeLessThan(stretched(2000));
  for (const { headers, json } of refusals) {
    expect(json).toMatchObject({
      code: "quota_exceeded",
      errors: [{ pointer: "/paid_reads_per_month", code: "quota_exceeded" }],
    });
    expect(Number(headers["retry-after"])).toBeGreaterThan(0);
    expect(Number(headers["retry-after"])).toBeLessThanOrEqual(3600);
    expect(headers["ratelimit"]).toMatch(/^"month";r=0;t=\d+$/);
  }
  const usage = await both[0].ask("/v1/usage", { key });
  expect(usage.json.quota, "reading one's usage is free").toMatchObject({ remaining: 0 });
  const metrics = await both[0].ask("/metrics");
  expect(metrics.text).toMatch(/trustrank_quota_used_ratio\{tenant="acme"\} 1/);

  const wrong = [{}, { paid_reads_per_month: -1 }, { paid_reads_per_month: 1, more: 1 }];
  for (const bad of wrong) {
    const answer = await both[0].ask("/v1/quotas/acme", { method: "PUT", body: bad });
    expect([answer.status, answer.json.code]).toEqual([400, "invalid_request"]);
  }
  expect((await both[0].ask("/v1/quotas", { key })).status, "an operator's affair").toBe(403);

  // What was read before the kill still counts, once the store has told.
  const before = (await quotaOf(both[0]))!.used;
  await new Promise((resolve) => setTimeout(resolve, 1200));
  for (const connection of both) connection.close();
  service.started.process.kill("SIGKILL");
  await service.started.ended;
  service = await startThreads(dataDir, {});
  both = await connectToBoth(service.url);
  const statusAfter = async () => (await read(both[1])).status;
  await expect.poll(statusAfter, { timeout: WAIT_MS_MAX, interval: 50 }).toBe(429);
  expect((await quotaOf(both[0]))!.used).toBeGreaterThanOrEqual(before);

  // Raised by the command, through the server.
  const flags = ["--data-dir", dataDir, "--key", "threads-suite-admin-key-0123456789abcdefghij"];
  const raised = await runCommand(["quotas", "set", "acme", "--reads", "100000", ...flags]);
  expect([raised.code, raised.stdout]).toEqual([0, "acme may make 100000 paid reads a month\n"]);
  expect((await read(both[1])).status, "at once, on the other thread").toBe(200);
  const audited = await both[0].ask("/v1/quotas/acme", { method: "DELETE" });
  expect(audited.json).toMatchObject({ paid_reads_per_month: 100_000 });
  expect((await read(both[0])).headers["ratelimit"]).toBeUndefined();
  for (const connection of both) connection.close();
  service.started.process.kill("SIGTERM");
  await service.started.ended;

  // And on the files, when nobody serves.
  const files = ["--data-dir", dataDir];
  await runCommand(["quotas", "set", "other", "--reads", "5", ...files]);
  const listed = await runCommand(["quotas", "list", "--json", ...files]);
  expect(JSON.parse(listed.stdout)).toEqual([{ tenant: "other", paid_reads_per_month: 5 }]);
  expect((await runCommand(["quotas", "remove", "nobody", ...files])).code).toBe(1);
  expect((await runCommand(["quotas", "set", "x", "--reads", "-1", ...files])).code).toBe(2);
});

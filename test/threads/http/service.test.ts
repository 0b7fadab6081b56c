// `serve --http-threads 2` over real processes: both threads answer on the one port, and what one
// of them learns (keys, limits, evidence, sources) the other knows at once.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { afterAll, beforeAll, describe, expect, it } from "vitest";

import { ADMIN_KEY, connectToBoth, requestsByThread, startThreads } from "./_service.ts";
import type { Connection, Service } from "./_service.ts";
import { newPair, proofOf } from "../../http/_signing.ts";
import { endAll, runCommand } from "../../cli/_process.ts";

const folder = mkdtempSync(join(tmpdir(), "trustrank-threads-"));
const BURST = 60;
const WRITER = ["score:read", "outcomes:write"];
const CHECK = { subject: "agent://acme/ledger-sync", stakes: 5 };

afterAll(async () => {
  await endAll();
  rmSync(folder, { recursive: true, force: true });
});

describe("two HTTP threads", () => {
  let service: Service;
  let both: [Connection, Connection];
  /** Each thread once as the one that is told, once as the one that is asked. */
  const pairs = () => [both, both.toReversed() as [Connection, Connection]];

  beforeAll(async () => {
    service = await startThreads(join(folder, "data"), { TRUSTRANK_RATE_SCORE: `1/${BURST}` });
    both = await connectToBoth(service.url);
  });
  afterAll(() => both.forEach((connection) => connection.close()));

  async function makeKey(through: Connection, scopes = WRITER, tenant = "acme", more = {}) {
    const made = await through.ask("/v1/keys", { body: { tenant, scopes, ...more } });
    expect(made.status).toBe(201);
    return made.json as { key: string; key_id: string };
  }

  it("both answer, and tell the same of themselves", async () => {
    const told = await Promise.all(both.map((each) => each.ask("/healthz")));
    expect(told[0]!.json).toEqual(told[1]!.json);
    expect(told[0]!.json.service_id).toMatch(/^trustrank:/);
    for (const each of both) expect((await each.ask("/readyz")).json.ready).toBe(true);
    const before = await requestsByThread(both[0]);
    for (let i = 0; i < 10; i++) await both[1].ask("/v1/check", { body: CHECK });
    const after = await requestsByThread(both[0]);
    expect(after[1]! - before[1]!).toBe(10);
  });

  it("a key is good on both from its creation, and on neither from its revocation", async () => {
    for (let round = 0; round < 5; round++) {
      for (const [one, other] of pairs()) {
        const { key, key_id } = await makeKey(one);
        for (const each of [other, one]) {
          expect((await each.ask("/v1/check", { key, body: CHECK })).status).toBe(200);
        }
        expect((await one.ask(`/v1/keys/${key_id}`, { method: "DELETE" })).status).toBe(200);
        for (const each of [other, one]) {
          expect((await each.ask("/v1/check", { key, body: CHECK })).status).toBe(401);
        }
      }
    }
  });

  it("a namespace is the owner's on both from its grant, anybody's from its revocation", async () => {
    const outcome = { subject: "agent://threads/s", outcome: 1, stakes: 1, grade: "counterparty" };
    const { key } = await makeKey(both[0]);
    for (const [round, [one, other]] of [...pairs(), ...pairs()].entries()) {
      const body = { ...outcome, reporter: `agent://taken-${round}/r` };
      const path = `/v1/namespaces/taken-${round}`;
      await one.ask(path, { method: "PUT", body: { tenant: "globex" } });
      for (const each of [other, one]) {
        const forged = await each.ask("/v1/outcomes", { key, body });
        expect([forged.status, forged.json.code]).toEqual([403, "namespace_not_owned"]);
      }
      await one.ask(path, { method: "DELETE" });
      expect((await other.ask("/v1/outcomes", { key, body })).status).toBe(201);
    }
  });

  it("a name signs on both from the registration of its key", async () => {
    const { key } = await makeKey(both[0]);
    const outcome = { subject: "agent://threads/s", outcome: 1, stakes: 1, grade: "counterparty" };
    for (const [round, [one, other]] of pairs().entries()) {
      const reporter = `agent://signing/r-${round}`;
      const said = async (through: Connection) => {
        const { status, json } = await through.ask("/v1/outcomes", {
          key,
          body: { ...outcome, reporter },
        });
        return [status, json.code];
      };
      expect(await said(other)).toEqual([201, undefined]);
      const route = `/v1/agents/${encodeURIComponent(reporter)}/keys`;
      const { json } = await one.ask(`${route}/nonce`, { method: "POST", body: {} });
      const pair = newPair();
      const proof = await proofOf(pair, json.nonce, json.audience);
      await one.ask(route, { method: "PUT", body: { jwk: pair.jwk, proof } });
      for (const each of [other, one])
        expect(await said(each)).toEqual([403, "signature_required"]);
    }
  });

  it("a rate limit is one limit", async () => {
    const { key } = await makeKey(both[0]);
    const startedAt = performance.now();
    const asked = Array.from({ length: BURST * 2 }, async (_, i) => {
      const { status, headers } = await both[i % 2]!.ask("/v1/check", { key, body: CHECK });
      return { status, thread: i % 2, headers };
    });
    const answers = await Promise.all(asked);
    const taken = answers.filter((answer) => answer.status === 200);
    const elapsedSec = (performance.now() - startedAt) / 1000;
    expect(taken.length).toBeGreaterThanOrEqual(BURST);
    expect(taken.length).toBeLessThanOrEqual(BURST + Math.ceil(elapsedSec));
    expect(new Set(taken.map((answer) => answer.thread))).toEqual(new Set([0, 1]));
    const refused = answers.filter((answer) => answer.status === 429);
    expect(taken.length + refused.length).toBe(BURST * 2);
    expect(refused[0]!.headers["retry-after"]).toMatch(/^\d+$/);
  });

  it("streams the same rows through both", async () => {
    const sql = "SELECT range AS n, rpad('', 200, 'x') AS filler FROM range(30000)";
    const headers = { accept: "application/x-ndjson" };
    for (const each of both) {
      const {
        status,
        headers: told,
        text,
      } = await each.ask("/v1/query", { body: { sql }, headers });
      expect(status).toBe(200);
      expect(told["content-type"]).toBe("application/x-ndjson");
      const lines = text.trimEnd().split("\n");
      expect(lines).toHaveLength(30_000);
      expect(JSON.parse(lines.at(-1)!)).toMatchObject({ n: 29_999 });
    }
  });

  it("an outcome acknowledged by one is in the next answer of the other", async () => {
    // Of a key that nobody vouches for, more than the first would be one voice's repetitions.
    const { key, key_id: keyId } = await makeKey(both[0], WRITER, "acme", { first_party: true });
    const subject = "agent://threads/reported";
    let count = 0;
    for (let round = 0; round < 10; round++) {
      for (const [one, other] of pairs()) {
        count++;
        const outcome = {
          subject,
          reporter: `agent://threads/reporter-${count}`,
          outcome: 1,
          stakes: 20,
          grade: "escrow",
          id: `threads-${count}`,
        };
        expect((await one.ask("/v1/outcomes", { key, body: outcome })).status).toBe(201);
        const path = `/v1/agents/${encodeURIComponent(subject)}`;
        expect((await other.ask(path, { key })).json.evidence.outcomes).toBe(count);
        const repeat = await other.ask("/v1/outcomes", { key, body: outcome });
        expect([repeat.status, repeat.json.duplicate]).toEqual([200, true]);
      }
    }
    const usage = await both[1].ask("/v1/usage", { key });
    const counts = { reads: { explain: count }, outcomes_reported: 2 * count };
    const keys = usage.json.keys as { key_id: string }[];
    expect(keys.find(({ key_id: id }) => id === keyId)).toMatchObject(counts);
    // Audits of what was refused before wait for their sync as outcomes do.
    const metrics = async () => (await both[1].ask("/metrics")).text;
    await expect.poll(metrics).toContain("trustrank_outcomes_pending 0\n");
  });

  it("what is handed on comes back as if it were answered here", async () => {
    for (const each of both) {
      const headers = { "x-request-id": "asked-1" };
      const listed = await each.ask("/v1/keys", { headers });
      expect([listed.status, listed.headers["x-request-id"]]).toEqual([200, "asked-1"]);
      const sql = { sql: "SELECT 6 * 7 AS n", format: "csv" };
      const csv = await each.ask("/v1/query", { body: sql });
      expect([csv.text, csv.headers["content-type"]]).toEqual([
        "n\r\n42\r\n",
        "text/csv; charset=utf-8",
      ]);
      const problem = await each.ask("/v1/query", { body: { sql: 7 }, headers });
      expect(problem.json).toMatchObject({ status: 400, code: "invalid_request" });
      expect(problem.headers["x-request-id"]).toBe("asked-1");
      expect(problem.json.request_id).not.toBe("asked-1");
      const unknown = await each.ask("/v1/kaizen/runs/none");
      expect(unknown.json).toMatchObject({ status: 404, code: "not_found" });
      const signed = await each.ask("/v1/outcomes", {
        body: {},
        headers: { "x-jws-signature": "x..y" },
      });
      expect(signed.json).toMatchObject({ code: "signature_malformed" });
      const agents = { subject: "agent://threads/a", reporter: "agent://threads/b" };
      const outcome = { ...agents, outcome: 1, stakes: 1, grade: "escrow" };
      const items = [outcome, { body: JSON.stringify(outcome), signature: "x..y" }];
      const batch = await each.ask("/v1/outcomes/batch", { body: items });
      expect(batch.json.items).toMatchObject([
        { status: 201, result: { duplicate: false } },
        { problem: { code: "signature_malformed" } },
      ]);
    }
  });

  it("a source registered through one verifies on the other; batches go to the pool", async () => {
    for (const [index, [one, other]] of pairs().entries()) {
      const { key } = await makeKey(one, ["score:read", "evidence:write"]);
      const id = `doc:threads-${index}`;
      const source = { sha256: `sha256:${"ab".repeat(32)}`, kind: "text", title: "A source" };
      const put = await one.ask(`/v1/evidence/${id}`, { method: "PUT", key, body: source });
      expect(put.status, put.text).toBe(201);
      const context = { content_hash: source.sha256, cited_sources: [id] };
      const request = { agent_id: CHECK.subject, action: "a.b", tool_level: "L2", context };
      const { json } = await other.ask("/v1/trust/verify", { key, body: request });
      expect(json.provenance_data.source_verified).toBe(true);
      const items = Array.from({ length: 150 }, () => request);
      // Of a tenant that may not cite the source; a batch may go into debt once.
      const stranger = (await makeKey(one, ["score:read"], "globex")).key;
      const batch = await other.ask("/v1/trust/verify/batch", { key: stranger, body: { items } });
      expect(batch.status).toBe(200);
      expect(batch.json.items).toHaveLength(150);
      expect(batch.json.items[149].result.provenance_data.source_verified).toBe(false);
    }
  });

  it("a policy set through one makes the next verdict of the other, and of the pool", async () => {
    const request = { agent_id: "agent://threads/nobody", action: "a.b", tool_level: "L3" };
    const body = { ...request, context: {} };
    const items = Array.from({ length: 150 }, () => body);
    for (let round = 0; round < 10; round++) {
      for (const [index, [one, other]] of pairs().entries()) {
        const tenant = `policy-${index}`;
        const enforce = round % 2 === 1;
        const set = await one.ask(`/v1/policy?tenant=${tenant}`, {
          method: "PUT",
          body: { levels: { L3: { enforce } }, allow_inverted: true },
        });
        expect(set.status, set.text).toBe(200);
        const { key } = await makeKey(one, ["score:read"], tenant);
        const expected = [enforce ? "CHALLENGE" : "ALLOW", set.json.version];
        for (const each of [other, one]) {
          const { json } = await each.ask("/v1/trust/verify", { key, body });
          expect([json.policy_action.verdict, json.policy_version]).toEqual(expected);
          const shown = await each.ask("/v1/policy", { key });
          expect(shown.json).toEqual(set.json);
        }
        if (round > 1) continue;
        const batch = await other.ask("/v1/trust/verify/batch", { key, body: { items } });
        const { result } = batch.json.items[149];
        expect([result.policy_action.verdict, result.policy_version]).toEqual(expected);
      }
    }
  });

  it("a text too large to be scored in place is scored for either", async () => {
    const words = (count: number, seed: number) =>
      Array.from({ length: count }, (_, i) => `word${(i * 7919 + seed) % 5000}`).join(" ");
    const scopes = ["score:read", "evidence:write"];
    const { key } = await makeKey(both[0], scopes);
    const cited_sources = Array.from({ length: 10 }, (_, index) => `doc:large-${index}`);
    for (const [index, id] of cited_sources.entries()) {
      const body = { text: words(2000, index), kind: "text", title: "A source" };
      const put = await both[0].ask(`/v1/evidence/${id}`, { method: "PUT", key, body });
      expect(put.status, put.text).toBe(201);
    }
    const context = { content: words(1300, 3), cited_sources };
    const body = { agent_id: CHECK.subject, action: "a.b", tool_level: "L2", context };
    for (const each of both) {
      const own = (await makeKey(each, scopes)).key;
      const ask = async () => {
        const { json } = await each.ask("/v1/trust/verify", { key: own, body });
        return json.reason_codes as string[];
      };
      // What misses its deadline is not assessed: a busy machine may need another try.
      const options = { interval: 500 };
      await expect.poll(ask, options).toContain("CITATION_MISMATCH");
    }
  });

  it("a denial of either is in the one decision log", async () => {
    for (const each of both) {
      const request = { agent_id: "agent://test/refuse", action: "a.b", tool_level: "L3" };
      const body = { ...request, context: {} };
      const { key } = await makeKey(each);
      const { json } = await each.ask("/v1/trust/verify", { key, body });
      const logged = await each.ask(`/v1/decisions/${json.request_id}`, { key });
      expect(logged.json.legs, logged.text).toHaveLength(1);
    }
  });

  it("a second service is refused the port, whether it would share it or not", async () => {
    const { port } = new URL(service.url);
    for (const more of [[], ["--http-threads", "2"]]) {
      const at = ["--port", port, "--data-dir", join(folder, "second"), "--no-sample", ...more];
      const second = await runCommand(["serve", ...at], { TRUSTRANK_ADMIN_KEY: ADMIN_KEY });
      expect(second.code).toBe(1);
      expect(second.stderr).toContain("is the port taken?");
    }
  });
});

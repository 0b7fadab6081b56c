// Rotation of the bureau's signing key over the real service: who follows by the published set needs no
// restart, what was signed before verifies, and a kill at any moment leaves one key in force.
import { mkdtempSync, readdirSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { compactVerify, createRemoteJWKSet } from "jose";
import { afterAll, describe, expect, it } from "vitest";
import type { SigningKeySet } from "../../src/contract/schemas/signing-keys.ts";
import type { SignedRoot } from "../../src/contract/schemas/sources.ts";
import { endAll, runCommand, startCommand } from "./_process.ts";

const KEY = "signing-suite-admin-key-0123456789abcdefghij";
const folder = mkdtempSync(join(tmpdir(), "trustrank-signing-keys-"));
const HEADERS = { authorization: `Bearer ${KEY}`, "content-type": "application/json" };

afterAll(async () => {
  await endAll();
  rmSync(folder, { recursive: true, force: true });
});

async function serve(dataDir: string, ...more: string[]) {
  return serveWith({}, dataDir, ...more);
}

async function serveWith(own: Record<string, string>, dataDir: string, ...more: string[]) {
  const parameters = ["serve", "--port", "0", "--no-sample", "--json", "--data-dir", dataDir];
  const environment = { TRUSTRANK_ADMIN_KEY: KEY, TRUSTRANK_HTTP_THREADS: "2", ...own };
  const { process, firstLine, ended } = startCommand([...parameters, ...more], environment);
  const { url } = JSON.parse(await firstLine) as { url: string };
  const get = async <T>(path: string) =>
    (await fetch(url + path, { headers: HEADERS })).json() as T;
  const rotate = () => fetch(`${url}/v1/signing-keys/rotate`, { method: "POST", headers: HEADERS });
  const report = (id: string) =>
    fetch(`${url}/v1/outcomes`, {
      method: "POST",
      headers: HEADERS,
      body: JSON.stringify({
        subject: "agent://rotated/subject",
        reporter: `agent://rotated/${id}`,
        outcome: 1,
        stakes: 5,
        grade: "counterparty",
        id,
      }),
    });
  const keys = async () =>
    ((await (await fetch(`${url}/.well-known/jwks.json`)).json()) as SigningKeySet).keys;
  const end = async (signal: NodeJS.Signals) => {
    process.kill(signal);
    await ended;
  };
  return { url, get, rotate, report, keys, end, ended };
}

const run = (dataDir: string, ...parameters: string[]) =>
  runCommand([...parameters, "--data-dir", dataDir], { TRUSTRANK_KEY: KEY });

async function soundJournal(dataDir: string): Promise<string> {
  const doctor = await run(dataDir, "doctor", "--json");
  expect([doctor.code, doctor.stderr]).toEqual([0, ""]);
  const { findings } = JSON.parse(doctor.stdout) as {
    findings: { part: string; detail: string; advice: string }[];
  };
  const journal = findings.find(({ part }) => part === "journal")!;
  expect(journal.advice).toBe("");
  return journal.detail;
}

describe("a rotation while the service runs", () => {
  it("reaches all who follow the published set, and loses nobody's signature", async () => {
    const dataDir = join(folder, "data");
    const archive = join(folder, "archive");
    const service = await serve(dataDir, "--archive", archive, "--archive-every", "1s");
    // Made once, before any rotation: jose asks again when it meets a kid that it does not know.
    const jwks = createRemoteJWKSet(new URL(`${service.url}/.well-known/jwks.json`), {
      cooldownDuration: 0,
    });
    const roots: SignedRoot[] = [];
    const kids = new Set<string>();
    let isReporting = true;
    let reported = 0;
    const reporting = (async () => {
      for (; isReporting; reported++) {
        const { status } = await service.report(`during-${reported}`);
        if (status !== 201) throw new Error(`an outcome was refused with ${status}`);
      }
    })();
    for (let round = 0; round < 3; round++) {
      const root = await service.get<SignedRoot>("/v1/vault/root");
      roots.push(root);
      kids.add(root.jwk.kid);
      const answer = round === 2 ? undefined : await service.rotate();
      if (answer !== undefined) expect(answer.status).toBe(200);
      else expect((await run(dataDir, "keys", "rotate-signing")).stdout).toMatch(/; 3 before it/);
      for (const each of roots) {
        const { payload, protectedHeader } = await compactVerify(each.jws, jwks);
        expect(protectedHeader.kid).toBe(each.jwk.kid);
        expect(JSON.parse(Buffer.from(payload).toString())).toMatchObject({ root: each.root });
      }
    }
    const keys = await service.keys();
    expect(keys).toHaveLength(4);
    expect(
      keys
        .slice(1)
        .map(({ kid }) => kid)
        .toReversed(),
    ).toEqual([...kids]);
    expect((await service.get<SignedRoot>("/v1/vault/root")).jwk.kid).toBe(keys[0]!.kid);
    for (const [index, key] of keys.slice(0, -1).entries()) {
      const former = keys[index + 1]!;
      const { payload, protectedHeader } = await compactVerify(key.vouched_by!, jwks);
      expect(protectedHeader).toMatchObject({ kid: former.kid, typ: "bureau-key+jws" });
      expect(JSON.parse(Buffer.from(payload).toString()).jwk.kid).toBe(key.kid);
    }
    isReporting = false;
    await reporting;
    expect(reported).toBeGreaterThan(0);
    const sql =
      "SELECT actor, kid FROM audit_events WHERE event = 'bureau_key.rotated' ORDER BY position";
    await expect
      .poll(async () => {
        const body = JSON.stringify({ sql: sql.replace("actor", "detail->>'actor'") });
        const answer = await fetch(`${service.url}/v1/query`, {
          method: "POST",
          headers: HEADERS,
          body,
        });
        return ((await answer.json()) as { rows: unknown }).rows;
      })
      .toEqual(
        keys
          .slice(0, -1)
          .map(({ kid }) => ["installed-admin", kid])
          .toReversed(),
      );
    await service.end("SIGTERM");

    expect(await soundJournal(dataDir)).toContain("; 4 signing keys one after the other");
    const verified = await runCommand(["backup", archive, "--verify"]);
    expect([verified.code, verified.stderr]).toEqual([0, expect.not.stringContaining("damaged")]);
    const restored = join(folder, "restored");
    expect((await runCommand(["restore", archive, "--data-dir", restored])).code).toBe(0);
    expect(await soundJournal(restored)).toContain("; 4 signing keys");
    const copy = await serve(restored);
    expect(await copy.keys()).toEqual(keys);
    const path = `/v1/agents/${encodeURIComponent("agent://rotated/subject")}`;
    const { evidence } = await copy.get<{ evidence: { outcomes: number } }>(path);
    expect(evidence.outcomes).toBe(reported);
    await copy.end("SIGTERM");
  });

  it("keeps the snapshot of the agent table good", async () => {
    const dataDir = join(folder, "snapshot");
    const often = { TRUSTRANK_SNAPSHOT_OUTCOMES: "1000" };
    const service = await serveWith(often, dataDir);
    for (let i = 0; i < 1100; i += 100) {
      await Promise.all(
        Array.from({ length: 100 }, (_, index) => service.report(`s-${i + index}`)),
      );
    }
    const snapshots = () => readdirSync(join(dataDir, "snapshots"));
    await expect.poll(snapshots, { timeout: 20_000 }).toContainEqual(expect.stringMatching(/bin$/));
    expect((await service.rotate()).status).toBe(200);
    await service.report("after");
    await service.end("SIGTERM");
    const again = await serveWith(often, dataDir);
    await again.end("SIGTERM");
    const { stderr } = await again.ended;
    expect(stderr).not.toContain("snapshot_ignored");
  });
});

describe("a rotation and kill -9", () => {
  it("leaves one key in force, and all that was acknowledged", async () => {
    const dataDir = join(folder, "killed");
    const acknowledged: string[] = [];
    const seen = new Set<string>();
    let known = 1;
    for (let round = 0; round < 6; round++) {
      const service = await serve(dataDir);
      const before = await service.keys();
      seen.add(before[0]!.kid);
      expect(before.length).toBeGreaterThanOrEqual(known);
      const id = `kill-${round}`;
      if ((await service.report(id)).status === 201) acknowledged.push(id);
      const rotated = service.rotate().then(
        (answer) => answer.status === 200,
        () => false,
      );
      await new Promise((resolve) => setTimeout(resolve, round * 8));
      await service.end("SIGKILL");
      known = before.length + ((await rotated) ? 1 : 0);
      expect(statSync(join(dataDir, "bureau.key")).mode & 0o777).toBe(0o600);
    }
    const service = await serve(dataDir);
    const keys = await service.keys();
    expect(keys.length).toBeGreaterThanOrEqual(known);
    for (const kid of seen) expect(keys.map((key) => key.kid)).toContain(kid);
    const path = `/v1/agents/${encodeURIComponent("agent://rotated/subject")}`;
    const { evidence } = await service.get<{ evidence: { outcomes: number } }>(path);
    expect(evidence.outcomes).toBe(acknowledged.length);
    await service.end("SIGTERM");
    await soundJournal(dataDir);
  });
});

it("rotates in the files of a directory that no service holds", async () => {
  const dataDir = join(folder, "files");
  const none = await run(dataDir, "keys", "rotate-signing");
  expect([none.code, none.stderr]).toEqual([1, expect.stringContaining("the first start makes")]);
  const service = await serve(dataDir);
  await service.report("one");
  const [first] = await service.keys();
  await service.end("SIGTERM");
  const rotated = await run(dataDir, "keys", "rotate-signing", "--json");
  const { keys } = JSON.parse(rotated.stdout) as SigningKeySet;
  expect(keys).toMatchObject([{ valid_until: null }, { kid: first!.kid }]);
  const again = await serve(dataDir);
  expect(await again.keys()).toEqual(keys);
  await again.report("two");
  await again.end("SIGTERM");
  expect(await soundJournal(dataDir)).toContain("; 2 signing keys");
});

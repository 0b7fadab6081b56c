// Data directories as earlier commits have written them (_make-fixture.ts), under this release: it reads
// all of it, and gives the scores that it gives where the same outcomes are reported anew.
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { CallContext } from "../../src/bureau/bureau.ts";
import { MINIMUM_SCORES_DEFAULT } from "../../src/contract/policy.ts";
import type { Principal } from "../../src/contract/principal.ts";
import { hashTenantToVoice } from "../../src/contract/voices.ts";
import { openKeyring } from "../../src/http/access/keyring.ts";
import { resolveDataPaths } from "../../src/journal/data-directory.ts";
import { diskFileLayer } from "../../src/platform/files.ts";
import { verifyJournal } from "../../src/journal/verify.ts";
import { type ServiceCore, openServiceCore } from "../../src/service/core.ts";
import { endAll, runCommand } from "../cli/_process.ts";
import { REPORTS, SETTLED_MS, SOURCE } from "./_reports.ts";

const FIXTURES = fileURLToPath(new URL("fixtures", import.meta.url));
/** A month later: what is weighed by age has an age. */
const NOW_MS = SETTLED_MS + 30 * 86_400_000;
const folder = mkdtempSync(join(tmpdir(), "trustrank-upgrade-"));
const principal: Principal = {
  keyId: "installed-admin",
  tenant: "operator",
  scopes: new Set(["admin"]),
  minimumScores: MINIMUM_SCORES_DEFAULT,
  isShadow: false,
  isFirstParty: true,
  voice: hashTenantToVoice("operator"),
};
const call: CallContext = { requestId: "upgrade", principal };

/** Records of these name no voice and no first party: each counts as its reporter's own. */
const BEFORE_VOICES = new Set(["d78fee14"]);
const sent = (report: object, by: Principal = principal) => ({
  requestId: "upgrade",
  principal: by,
  body: Buffer.from(JSON.stringify(report)),
  idempotencyKey: undefined,
  traceparent: undefined,
});

afterAll(async () => {
  await endAll();
  rmSync(folder, { recursive: true, force: true });
});

interface Told {
  readonly agents: Record<string, Record<string, unknown>>;
}

let nowMs = NOW_MS;
const open = (dataDir: string): Promise<ServiceCore> =>
  openServiceCore({
    dataDir,
    clock: () => nowMs,
    isReservedEnabled: false,
    onFatal: (code, why) => {
      throw new Error(`ended with ${code}: ${why}`);
    },
  });

/** What this release says of every agent, and of every one to every other. */
async function answersOf(core: ServiceCore): Promise<unknown[]> {
  const agents = new Set(REPORTS.flatMap(({ subject, reporter }) => [subject, reporter]));
  const answers: unknown[] = [];
  for (const subject of agents) {
    answers.push(core.bureau.explainScore(subject, call));
    for (const stakes of [1, 100, 5000]) {
      answers.push(await core.bureau.check({ subject, stakes }, call));
    }
  }
  return answers;
}

describe.each(readdirSync(FIXTURES))("a directory that %s has written", (name) => {
  const fixture = join(FIXTURES, name);
  const dataDir = join(folder, name);
  const told = JSON.parse(readFileSync(join(fixture, "told.json"), "utf8")) as Told;
  let anew: unknown[];

  beforeAll(async () => {
    cpSync(fixture, dataDir, { recursive: true });
    const fresh = join(folder, `${name}-anew`);
    mkdirSync(fresh);
    const core = await open(fresh);
    const voiceless = { ...principal, isFirstParty: false, voice: 0 };
    const by = BEFORE_VOICES.has(name) ? voiceless : principal;
    for (const report of REPORTS) {
      nowMs = report.settled_at;
      await core.bureau.recordOutcome(report, sent(report, by));
    }
    nowMs = NOW_MS;
    anew = await answersOf(core);
    await core.close();
  });

  it("is one that `upgrade --check` finds nothing in to refuse", async () => {
    const checked = await runCommand(["upgrade", "--check", "--json", "--data-dir", dataDir]);
    expect([checked.code, checked.stderr]).toEqual([0, ""]);
    const { ok, parts } = JSON.parse(checked.stdout) as { ok: boolean; parts: { part: string }[] };
    expect(ok).toBe(true);
    expect(parts.find(({ part }) => part === "journal")).toMatchObject({
      found: expect.stringMatching(/^version 1; outcome, commit/),
      outlook: "reads",
    });
  });

  it("gives the scores of the same outcomes reported anew", async () => {
    const core = await open(dataDir);
    expect(core.ledger.replay.outcomes).toBe(REPORTS.length);
    expect(await answersOf(core)).toEqual(anew);
    for (const [subject, evidence] of Object.entries(told.agents)) {
      const { outcomes, first_seen_at, last_outcome_at } = evidence;
      expect(core.bureau.explainScore(subject, call)).toMatchObject({
        evidence: { outcomes, first_seen_at, last_outcome_at },
      });
    }
    const [first] = REPORTS;
    nowMs = first!.settled_at;
    const repeated = await core.bureau.recordOutcome(first!, sent(first!));
    expect(repeated.duplicate).toBe(true);
    nowMs = NOW_MS;
    expect(core.sources.vault.read(SOURCE.id, "operator")).toMatchObject({ source_id: SOURCE.id });
    await core.close();
    expect(verifyJournal(diskFileLayer, resolveDataPaths(dataDir).journal)).toMatchObject({
      damage: undefined,
      forged: [],
      unannounced: [],
    });
  });

  it("has its API keys, the revoked one revoked", async () => {
    const keyring = await openKeyring({ dataDir, now: () => NOW_MS });
    const states = keyring.list().map(({ label, revoked_at: at }) => [label, at !== null]);
    expect(states).toEqual([
      [null, true],
      ["kept", false],
    ]);
  });
});

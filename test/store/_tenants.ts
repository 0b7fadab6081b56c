// Two tenants that share one database, with rows of both in every table.
import * as fs from "node:fs";
import { loadDefaultConfig } from "../../src/engine/config.ts";
import { createEngineMemory } from "../../src/engine/memory.ts";
import { openEngineWriter } from "../../src/engine/writer.ts";
import { FRAME_KINDS } from "../../src/journal/format.ts";
import { FrameBatch } from "../../src/ledger/frame-batch.ts";
import { DEFAULT_POLICY } from "../../src/contract/policy.ts";
import { encodeConditionEvent } from "../../src/contract/conditions/events.ts";
import { createUsageCounts } from "../../src/contract/usage.ts";
import { encodeUsage } from "../../src/contract/usage-records.ts";
import { createDecisionRing } from "../../src/store/decisions/ring-layout.ts";
import { DecisionRingWriter } from "../../src/store/decisions/ring.ts";
import { type OpenStore, startStore } from "../../src/store/client.ts";
import { encodeSourceEvent } from "../../src/vault/sources/events.ts";
import { assessed, assessedRunOf, NOW_MS, recordOf, runOf } from "../ledger/_fixtures.ts";
import { entryOf, principalOf } from "./_decisions.ts";
import { notesInto, openJournal } from "./_fixtures.ts";

/** In every text of the other tenant's rows, and in nothing else. */
export const MARK = "zebra";

function keyEvent(tenant: string, agent: string, kid: string): Buffer {
  const event = { event: "registered", at_ms: NOW_MS, tenant, agent, kid, x: "x", proof: "p" };
  const times = { not_before_ms: NOW_MS, expires_ms: null, others_retire_ms: NOW_MS };
  return Buffer.from(JSON.stringify({ ...event, ...times }));
}

function source(tenant: string, id: string, visibility: "tenant" | "public"): Buffer {
  return encodeSourceEvent({
    source_id: id,
    sha256: "ab".repeat(32),
    size: 4,
    kind: "document",
    title: `title of ${id}`,
    tenant,
    visibility,
    state: "active",
    registered_at: NOW_MS,
    registrar: `key-${tenant}`,
  });
}

/** An agent table in which each of these has one success. */
export function tableOf(agents: readonly string[]): WebAssembly.Memory {
  const memory = createEngineMemory();
  const writer = openEngineWriter(memory, loadDefaultConfig(), 1n);
  for (const subject of agents) {
    writer.fold({
      subject,
      reporter: `${subject}-buyer`,
      outcome: 1,
      stakes: 10,
      gradeIndex: 3,
      signatureIndex: 0,
      settledAtMs: NOW_MS,
      voice: 0,
    });
  }
  return memory;
}

function addReview(events: FrameBatch, tenant: string): void {
  const key = { tenant, agent: `agent://${tenant}/w`, level: "L2", day: "2026-01-01", round: 0 };
  const id = `rv-20260101-${tenant}`;
  const last = { last_request_id: `last of ${tenant}`, last_stakes: 1, last_ms: NOW_MS };
  const calls = { count: 2, stakes_max: 1, ...last };
  const first = { first_request_id: `first of ${tenant}`, first_stakes: 1, first_ms: NOW_MS };
  const said = { statement: `said by ${tenant}`, contact: null, request_id: null, by_link: false };
  const dispute = { ...said, actor: `key-${tenant}` };
  const at = { at_ms: NOW_MS };
  const opened = { event: "review.opened", ...at, ...key, id, reason: "R", ...first, ...calls };
  const counted = { event: "review.counted", ...at, reviews: [{ id, ...calls }] };
  for (const event of [{ ...opened, dispute }, counted]) {
    events.addEvent(FRAME_KINDS.reviewEvent, Buffer.from(JSON.stringify(event)));
  }
}

function addCondition(events: FrameBatch, tenant: string): void {
  const reason = { code: "incident", text: `said by ${tenant}` };
  const word = { levels: null, max_stakes: null, until_ms: null, reason, case: null };
  const payload = encodeConditionEvent({
    event: "condition.set",
    at_ms: NOW_MS,
    tenant,
    actor: `key-${tenant}`,
    subject: `agent://${tenant}/w`,
    condition: { state: "suspended", ...word },
  });
  events.addEvent(FRAME_KINDS.condition, payload);
}

/** Every view has rows of the tenants `acme` and MARK. */
export async function openTenants(): Promise<{ dataDir: string; store: OpenStore }> {
  const dataDir = fs.mkdtempSync("/tmp/trustrank-tenants-");
  const journal = openJournal(dataDir);
  const events = new FrameBatch();
  events.addEvent(FRAME_KINDS.key, keyEvent("acme", "agent://acme-shop/buyer", "kid-acme"));
  events.addEvent(FRAME_KINDS.key, keyEvent(MARK, `agent://${MARK}-shop/buyer`, `kid-${MARK}`));
  // The first to come owns the namespace.
  events.addEvent(FRAME_KINDS.key, keyEvent(MARK, "agent://acme-shop/other", `kid-${MARK}-2`));
  events.addEvent(FRAME_KINDS.evidence, source("acme", "doc:acme", "tenant"));
  events.addEvent(FRAME_KINDS.evidence, source(MARK, `doc:${MARK}`, "tenant"));
  events.addEvent(FRAME_KINDS.evidence, source("operator", "doc:public", "public"));
  const replayed = { event: "signature.replayed", at_ms: NOW_MS, jti: "j" };
  for (const kid of ["kid-acme", `kid-${MARK}`]) {
    events.addEvent(FRAME_KINDS.audit, Buffer.from(JSON.stringify({ ...replayed, kid })));
  }
  const texts = ["acme", MARK].map((tenant) =>
    assessed(1, { agent: `agent://${tenant}/w`, tenant, keyId: `key-${tenant}` }),
  );
  for (const tenant of ["acme", MARK]) {
    const policy = { ...DEFAULT_POLICY, allow_inverted: true };
    const event = { event: "policy.set", tenant, policy, version: "p-1", set_by: `key-${tenant}` };
    const payload = Buffer.from(JSON.stringify({ ...event, at_ms: NOW_MS }));
    events.addEvent(FRAME_KINDS.policy, payload);
  }
  for (const tenant of ["acme", MARK]) {
    const counts = { ...createUsageCounts(), verify: 3 };
    const row = { meter: "m", day: "2026-01-31", key_id: `key-${tenant}`, tenant, ...counts };
    for (const payload of encodeUsage("m", [row])) events.addEvent(FRAME_KINDS.usage, payload);
  }
  for (const tenant of ["acme", MARK]) {
    addReview(events, tenant);
    addCondition(events, tenant);
  }
  journal.commit([events.drain(), assessedRunOf(texts)], NOW_MS);
  const own = Array.from({ length: 20 }, (_, n) => recordOf(n, { tenant: "acme" }));
  const others = Array.from({ length: 200 }, (_, n) =>
    recordOf(1000 + n, {
      tenant: MARK,
      subject: `agent://${MARK}-shop/seller-${n}`,
      reporter: `agent://${MARK}-shop/${n}`,
      action: `${MARK}.act`,
      requestId: `${MARK}-${n}`,
    }),
  );
  // Another tenant reports on an agent of ours, and in the name of one.
  const third = { tenant: "third", stakes: 1 };
  const about = recordOf(2000, { ...third, subject: "agent://acme-shop/buyer" });
  const inName = recordOf(2001, { ...third, reporter: "agent://acme-shop/x" });
  journal.commit([runOf([...others.slice(0, 100), ...own, about, inName])], NOW_MS);
  journal.commit([runOf(others.slice(100))], NOW_MS);
  journal.close();
  const notes = notesInto(dataDir);
  const told = { recorded_at: NOW_MS, action: "write", content_hash: "sha256:00" };
  const cited = { cited_sources: [], request_id: null };
  for (const tenant of ["acme", MARK]) {
    await notes.recordNote("provenance", {
      ...told,
      ...cited,
      tenant,
      agent_id: `agent://${tenant}/w`,
    });
    const reviewed = { recorded_at: NOW_MS, resolution: "upheld", note: `by ${tenant}` };
    const which = { request_id: "request-0", key_id: `key-${tenant}` };
    await notes.recordNote("reviews", { ...reviewed, ...which, tenant });
    const audit = { recorded_at: NOW_MS, event: "api_key.created", actor: `key-${tenant}` };
    await notes.recordNote("audit_events", { ...audit, tenant, detail: { tenant } });
    const tried = { recorded_at: NOW_MS, backtest_id: `b-${tenant}`, policy_version: "p-2" };
    const found = { compared_with: "p-1", decisions: 10, changed: 1, report: { tenant } };
    await notes.recordNote("backtests", { ...tried, ...found, tenant, key_id: `key-${tenant}` });
  }
  notes.close();
  const ring = createDecisionRing();
  const store = await startStore({
    dataDir,
    isStandalone: true,
    rings: [ring],
    decisionsKeptDays: 36_500,
    outcomesKeptDays: 36_500,
  });
  store.setAgentTable(tableOf(["agent://acme-shop/buyer", `agent://${MARK}-shop/buyer`]));
  const writer = new DecisionRingWriter(ring, { waitMs: 0 });
  for (let n = 0; n < 10; n++) {
    const theirs = { ...entryOf(100 + n, false), subject: `agent://${MARK}/x`, isFlagged: true };
    writer.record({ ...theirs, requestId: `${MARK}-${n}`, principal: principalOf(MARK) });
    writer.record({ ...entryOf(n, false), isFlagged: n === 0, principal: principalOf("acme") });
  }
  await store.recordRun("kaizen_runs", {
    recorded_at: NOW_MS,
    run_id: `run-${MARK}`,
    started_at: NOW_MS,
    finished_at: NOW_MS,
    started_by: "schedule",
    status: "kept",
    promoted: false,
    reason: MARK,
    config_from: "c-1",
    config_to: null,
    outcome_count: 1,
    gates: [],
    record: { namespaces: [MARK] },
  });
  return { dataDir, store };
}

// Namespaces of a tenant as SQL finds them are those of the fold, whatever happened to each.
import * as fs from "node:fs";
import fc from "fast-check";
import { afterAll, expect, test } from "vitest";
import {
  type NamespaceEvent,
  NamespaceOwners,
  type RegistryEvent,
} from "../../../src/contract/namespaces.ts";
import { FRAME_KINDS } from "../../../src/journal/format.ts";
import { FrameBatch } from "../../../src/ledger/frame-batch.ts";
import type { OpenStore } from "../../../src/store/client.ts";
import { NOW_MS, recordOf, runOf } from "../../ledger/_fixtures.ts";
import { LIMITS, openJournal, openStore } from "../_fixtures.ts";

const TENANTS = ["acme", "globex", "operator"] as const;
const NAMESPACES = 60;
const dataDir = fs.mkdtempSync("/tmp/trustrank-namespaces-");
let store: OpenStore | undefined;

afterAll(async () => {
  await store?.close();
  fs.rmSync(dataDir, { recursive: true });
});

const tenant = fc.constantFrom(...TENANTS);
const acts = fc.array(
  fc.record({
    kind: fc.constantFrom("old key", "key", "granted", "transferred", "revoked"),
    tenant,
  }),
  { maxLength: 6 },
);

/** Events of one namespace, of which each names a key or an owner. */
function eventsOf(namespace: string, drawn: readonly { kind: string; tenant: string }[]) {
  // Keys that claim come first: the service that made them cannot read the other events.
  const isOld = ({ kind }: { kind: string }) => Number(kind === "old key");
  return drawn
    .toSorted((a, b) => isOld(b) - isOld(a))
    .map((act, n): RegistryEvent => {
      const of = { at_ms: n, tenant: act.tenant };
      if (!act.kind.endsWith("key")) {
        const event = `namespace.${act.kind}` as NamespaceEvent["event"];
        return { event, ...of, namespace, keeps_keys: false, by: "k" };
      }
      const times = { not_before_ms: 0, expires_ms: null, others_retire_ms: 0 };
      const key = { agent: `agent://${namespace}/a`, kid: `${namespace}-${n}`, x: "x", proof: "p" };
      const by = act.kind === "key" ? { by: "owner" as const } : {};
      return { event: "registered", ...of, ...times, ...key, ...by };
    });
}

test("SQL finds the owner that the fold finds", async () => {
  const drawn = fc.sample(acts, { numRuns: NAMESPACES, seed: 11 });
  const events = drawn.flatMap((each, n) => eventsOf(`n${n}`, each));
  const payloads = events.map((event) => Buffer.from(JSON.stringify(event)));
  const batch = new FrameBatch();
  for (const [n, payload] of payloads.entries()) {
    const isKey = events[n]!.event === "registered";
    batch.addEvent(isKey ? FRAME_KINDS.key : FRAME_KINDS.namespace, payload);
  }
  // By the rows that a tenant sees of others' reports it owns their namespaces.
  const rows = drawn.map((_, n) => recordOf(n, { tenant: "third", subject: `agent://n${n}/s` }));
  const journal = openJournal(dataDir);
  journal.commit([batch.drain(), runOf(rows)], NOW_MS);
  journal.close();
  ({ store } = await openStore(dataDir));
  const owners = new NamespaceOwners();
  for (const event of events) owners.apply(event);
  const owned = owners.list();
  for (const each of TENANTS) {
    const sql = "SELECT subject_namespace FROM outcomes ORDER BY 1";
    const { rows: seen } = await store.query(sql, LIMITS, each);
    const expected = owned.filter((owner) => owner.tenant === each);
    expect(expected.length).toBeGreaterThan(5);
    expect(seen.map(([name]) => name)).toEqual(expected.map(({ namespace }) => namespace));
  }
});

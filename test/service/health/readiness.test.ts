// Readiness of the service, and its warnings.
import { expect, test } from "vitest";
import { NamespaceOwners } from "../../../src/contract/namespaces.ts";
import {
  listClockWarnings,
  buildInheritedNamespacesWarning,
  checkReadiness,
  listStoreWarnings,
} from "../../../src/service/health/readiness.ts";
import { INITIAL_STORE_STATE } from "../../../src/store/options.ts";
import { type OpenLedger, QUEUE_RECORDS_MAX } from "../../../src/ledger/client.ts";

function ledgerLike(changes: Partial<OpenLedger> = {}): OpenLedger {
  const ledger = {
    disk: { freeBytes: 5e9, ballastBytes: 1024, isLow: false },
    pendingCount: 7,
    isHealthy: () => true,
    journal: { damages: [], verifiedMs: undefined },
    ...changes,
  };
  return ledger as OpenLedger;
}

test("a reason for everything that keeps outcomes out", () => {
  expect(checkReadiness(ledgerLike(), [])).toEqual({ ready: true, reasons: [], warnings: [] });
  const low = { freeBytes: 1, ballastBytes: 0, isLow: true };
  const isHealthy = () => false;
  const reasons = (changes: Partial<OpenLedger>) => checkReadiness(ledgerLike(changes), []).reasons;
  expect(reasons({ disk: low, isHealthy })).toEqual(["disk nearly full"]);
  expect(reasons({ isHealthy })).toEqual(["journal not writable"]);
  expect(reasons({ pendingCount: QUEUE_RECORDS_MAX })).toEqual(["too many outcomes waiting"]);
});

test("damage in the journal is a warning with its place and what to do, and a number", () => {
  const damage = { segment: "seg-1.log", offset: 9, afterLsn: 4, reason: "a batch is bad" };
  const ledger = ledgerLike({ journal: { damages: [damage], verifiedMs: 1_700_000_000_500 } });
  const { ready, reasons, warnings } = checkReadiness(ledger, []);
  expect({ ready, reasons }).toEqual({ ready: true, reasons: [] });
  expect(warnings).toEqual([
    expect.stringMatching(/^journal damaged: a batch is bad in seg-1\.log at byte 9.*backup/),
  ]);
});

const NOW_MS = 1_700_000_000_000;

test("a store that is up says nothing; each trouble of it is a warning, and a number", () => {
  expect(listStoreWarnings(INITIAL_STORE_STATE, NOW_MS)).toEqual([]);
  const troubled = {
    ...INITIAL_STORE_STATE,
    appliedLsn: 10,
    durableLsn: 50,
    behindSinceMs: NOW_MS - 45_000,
    reopenCount: 2,
    reopenedAtMs: NOW_MS - 60_000,
    rebuildCount: 1,
    restoringCount: 3,
    damagedRecords: 4,
    failure: "disk full",
  };
  expect(listStoreWarnings(troubled, NOW_MS)).toEqual([
    "store does not follow the journal: disk full",
    "store is behind for 45 s: at position 10 of 50",
    "decision log is being restored: 3 files are left",
    `store was opened again after an error at ${new Date(NOW_MS - 60_000).toISOString()}, the log says which`,
  ]);
  expect(listStoreWarnings({ ...troubled, isBuilding: true }, NOW_MS)).toContain(
    "store is being rebuilt: at position 10 of 50",
  );
  expect(
    listStoreWarnings({ ...troubled, failure: "", restoringCount: 0 }, NOW_MS + 7_200_000),
  ).toEqual(["store is behind for 7245 s: at position 10 of 50"]);
  const { ready, warnings } = checkReadiness(ledgerLike(), ["store is behind"]);
  expect({ ready, warnings }).toEqual({ ready: true, warnings: ["store is behind"] });
});

test("namespaces of first-comers are a warning until an admin has settled them", () => {
  const owners = new NamespaceOwners();
  const times = { at_ms: 1, not_before_ms: 1, expires_ms: null, others_retire_ms: 1 };
  const key = { agent: "agent://a/x", kid: "k", x: "x", proof: "p" };
  owners.apply({ event: "registered", tenant: "acme", ...times, ...key });
  const granted = { at_ms: 1, namespace: "b", tenant: "acme", keeps_keys: false, by: "k" };
  owners.apply({ event: "namespace.granted", ...granted });
  const warning = buildInheritedNamespacesWarning(owners);
  expect(warning).toMatch(/^1 namespaces? .*`trustrank namespaces list`/);
  expect(checkReadiness(ledgerLike(), ["", warning]).warnings).toEqual([warning]);
  const grant = { at_ms: 2, namespace: "a", tenant: "acme", keeps_keys: false, by: "k" };
  owners.apply({ event: "namespace.granted", ...grant });
  expect(buildInheritedNamespacesWarning(owners)).toBe("");
});

test("a clock that is not followed, or not yet deleted by, is a warning", () => {
  expect(listClockWarnings({ leadMs: 0, isConfirmed: true })).toEqual([]);
  expect(listClockWarnings({ leadMs: 34_560_000_000, isConfirmed: false })).toEqual([
    "the system's clock jumped forward by 34560000 s: not followed for an hour",
  ]);
  expect(listClockWarnings({ leadMs: -7_200_000, isConfirmed: false })).toEqual([
    "the system's clock jumped back by 7200 s: not followed for an hour",
  ]);
  expect(listClockWarnings({ leadMs: 0, isConfirmed: false })).toEqual([
    "the clock is in doubt: nothing is deleted by age for an hour",
  ]);
});

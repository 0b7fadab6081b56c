// The warnings of a service in which nothing is vouched for, and of owners whose signers are one voice.
import { expect, test } from "vitest";
import type { StoredKey } from "../../../src/http/access/key-file.ts";
import type { NamespaceOwner } from "../../../src/contract/namespaces.ts";
import {
  buildUnvouchedOwnersWarning,
  buildVouchingWarning,
} from "../../../src/http/access/vouching-warning.ts";

const NOW_MS = Date.UTC(2026, 0, 1);
let made = 0;

function key(changes: Partial<StoredKey> = {}): StoredKey {
  return {
    keyId: `key${(made += 1)}`,
    secretHash: "0".repeat(64),
    tenant: "acme",
    scopes: ["outcomes:write"],
    minimumScores: { L0: 300, L1: 300, L2: 300, L3: 300 },
    isShadow: false,
    label: null,
    createdAtMs: 0,
    expiresAtMs: null,
    revokedAtMs: null,
    ...changes,
  };
}

const build = (keys: readonly StoredKey[], changes = {}) =>
  buildVouchingWarning({ keys, hasVouchedOwner: false, hasSeeds: false, ...changes }, NOW_MS);

const vouched = (changes: Partial<StoredKey> = {}) => key({ isFirstParty: true, ...changes });
const admin = (changes: Partial<StoredKey> = {}) => key({ scopes: ["admin"], ...changes });

test.each<[string, StoredKey[]]>([
  ["a key for reporting alone", [key()]],
  ["beside the admin key of the first start", [admin({ isFirstParty: true }), key()]],
  ["an admin key from before first-party keys", [admin()]],
  ["beside a first-party key that is revoked", [key(), vouched({ revokedAtMs: 1 })]],
  ["beside one that has expired", [key(), vouched({ expiresAtMs: NOW_MS })]],
  ["beside one that may only read", [key(), vouched({ scopes: ["score:read"] })]],
])("warns: %s", (_name, keys) => {
  const warning = build(keys);
  expect(warning).toMatch(/^nothing is vouched for: [^\n]+$/);
  expect(warning, "what such a voice can do").toMatch(/less than 10 points in all, never the base/);
  expect(warning, "what is not bounded").toContain("the number of tenants is not capped");
  expect(build(keys, { hasSeeds: true }), "seeds").toBe("");
  expect(build(keys, { hasVouchedOwner: true }), "a vouched owner").toBe("");
});

test.each<[string, StoredKey[]]>([
  ["no key at all", []],
  ["the admin key of the first start alone", [admin({ isFirstParty: true })]],
  ["a key that may only read", [key({ scopes: ["score:read"] })]],
  ["a first-party key", [vouched()]],
  ["beside keys of others", [key(), vouched({ expiresAtMs: NOW_MS + 1 })]],
  ["keys for reporting that are revoked", [key({ revokedAtMs: 1 })]],
])("keeps silent: %s", (_name, keys) => {
  expect(build(keys)).toBe("");
});

function ownersOf(count: number): NamespaceOwner[] {
  const state = {
    state: "granted",
    isVouched: false,
    isMediator: false,
    sinceMs: 1,
    grantedBy: "k",
  } as const;
  return Array.from({ length: count }, (_, n) => ({
    namespace: `n${n}`,
    tenant: `t${n}`,
    ...state,
  }));
}

test("names owners with the most outcomes first, with their share once it is counted", () => {
  expect(buildUnvouchedOwnersWarning([], undefined)).toBe("");
  expect(buildUnvouchedOwnersWarning(ownersOf(1), undefined)).toMatch(
    /^not vouched for: n0 of t0; the outcomes that they signed are not counted yet; .*is not capped; .*--vouched/,
  );
  const signed = new Map([
    ["n6", 500],
    ["n3", 1],
    ["elsewhere", 9000],
  ]);
  expect(buildUnvouchedOwnersWarning(ownersOf(8), { total: 12_000, signed })).toMatch(
    /^not vouched for: n6 of t6 \(4\.2 %\), n3 of t3 \(under 0\.1 %\), n0 of t0 \(0 %\), n1 of t1 \(0 %\), n2 of t2 \(0 %\) and 3 more; they signed 4\.2 % of the 12000 outcomes of the last 30 days; all keys and signing names of a tenant that is not vouched for are one voice/,
  );
  expect(buildUnvouchedOwnersWarning(ownersOf(1), { total: 0, signed: new Map() })).toMatch(
    /^not vouched for: n0 of t0 \(0 %\); the last 30 days have no outcomes; /,
  );
});

// The warning of a service in which nothing is vouched for, and the cases in which it is silent.
import { expect, test } from "vitest";
import type { StoredKey } from "../../../src/http/access/key-file.ts";
import { buildVouchingWarning } from "../../../src/http/access/vouching-warning.ts";

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
  expect(buildVouchingWarning(keys, NOW_MS, false)).toMatch(/^nothing is vouched for: [^\n]+$/);
  expect(buildVouchingWarning(keys, NOW_MS, true), "seeds, or signatures required").toBe("");
});

test.each<[string, StoredKey[]]>([
  ["no key at all", []],
  ["the admin key of the first start alone", [admin({ isFirstParty: true })]],
  ["a key that may only read", [key({ scopes: ["score:read"] })]],
  ["a first-party key", [vouched()]],
  ["beside keys of others", [key(), vouched({ expiresAtMs: NOW_MS + 1 })]],
  ["keys for reporting that are revoked", [key({ revokedAtMs: 1 })]],
])("keeps silent: %s", (_name, keys) => {
  expect(buildVouchingWarning(keys, NOW_MS, false)).toBe("");
});

// The keyring on a real directory: what is kept, what is not, what survives a restart, and which
// headers open the door.
import { mkdtemp, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { hashTenantToVoice } from "../../../src/contract/voices.ts";
import { generateApiKey, parseApiKey } from "../../../src/http/access/key-format.ts";
import type { StoredKey } from "../../../src/http/access/key-file.ts";
import { Keyring, openKeyring } from "../../../src/http/access/keyring.ts";

const NO_MINIMUMS = { L0: 300, L1: 300, L2: 300, L3: 300 };
const ADMIN = "0123456789abcdef0123456789abcdef";

let dataDir: string;
let nowMs = Date.UTC(2026, 0, 1);
const now = () => nowMs;
const file = () => path.join(dataDir, "keys.json");

beforeEach(async () => {
  dataDir = await mkdtemp(path.join(tmpdir(), "trustrank-keys-"));
  nowMs = Date.UTC(2026, 0, 1);
});
afterEach(async () => {
  await rm(dataDir, { recursive: true, force: true });
});

describe("key format", () => {
  it("is tr, environment, id, secret and checksum", () => {
    const made = generateApiKey("live");
    expect(made.text).toMatch(/^tr_live_[0-9A-Za-z]{10}_[0-9A-Za-z]{49}$/);
    expect(parseApiKey(made.text)).toEqual({ keyId: made.keyId, secret: made.secret });
    expect(generateApiKey("live").text).not.toBe(made.text);
  });

  it("computes the checksum that it always did", () => {
    // CRC-32 (as zlib computes it) of the text before it: changing it would lock every key out.
    const covered = `tr_live_0123456789_${"a".repeat(43)}`;
    expect(parseApiKey(`${covered}01NP3H`)).toEqual({
      keyId: "0123456789",
      secret: "a".repeat(43),
    });
    expect(parseApiKey(`${covered}000000`)).toBeUndefined();
  });

  it("refuses any single changed character", () => {
    const { text } = generateApiKey("test");
    const digits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
    fc.assert(
      fc.property(
        fc.integer({ min: 0, max: text.length - 1 }),
        fc.constantFrom(...digits.split(""), "_", "-", " ", "é"),
        (at, character) => {
          fc.pre(character !== text[at]);
          return parseApiKey(text.slice(0, at) + character + text.slice(at + 1)) === undefined;
        },
      ),
      { numRuns: 1000 },
    );
    expect(parseApiKey(text)).toBeDefined();
  });
});

describe("keyring", () => {
  it("shows a key once and keeps only its hash, readable by the owner alone", async () => {
    const keyring = await openKeyring({ dataDir, now });
    const { key, description } = await keyring.create({ tenant: "acme", scopes: ["score:read"] });
    const text = await readFile(file(), "utf8");
    const { secret } = parseApiKey(key)!;
    expect(text).not.toContain(secret);
    expect(JSON.stringify(keyring.list())).not.toContain(secret);
    expect((await stat(file())).mode & 0o777).toBe(0o600);
    expect(await readdir(dataDir)).toEqual(["keys.json"]);
    expect(description).toEqual({
      key_id: parseApiKey(key)!.keyId,
      tenant: "acme",
      scopes: ["score:read"],
      minimum_scores: NO_MINIMUMS,
      is_shadow: false,
      first_party: false,
      asserts_properties: false,
      label: null,
      query_seconds_max: null,
      created_at: "2026-01-01T00:00:00.000Z",
      expires_at: null,
      revoked_at: null,
      rotated_at: null,
      overlap_ends_at: null,
    });
  });

  it("takes a level left at a default of an earlier version for one without a minimum", async () => {
    const cases = [
      [{ L0: 575, L1: 575, L2: 575, L3: 575 }, NO_MINIMUMS],
      [{ L0: 300, L1: 300, L2: 507, L3: 550 }, NO_MINIMUMS],
      [
        { L0: 575, L1: 575, L2: 575, L3: 576 },
        { L0: 575, L1: 575, L2: 575, L3: 576 },
      ],
      [
        { L0: 300, L1: 507, L2: 507, L3: 700 },
        { L0: 300, L1: 507, L2: 300, L3: 700 },
      ],
    ] as const;
    const before = await openKeyring({ dataDir, now });
    for (const [stored] of cases) {
      await before.create({ tenant: "old", scopes: ["score:read"], minimumScores: stored });
    }
    const chosen = await openKeyring({ dataDir, now });
    const list = (keyring: Keyring) => keyring.list().map(({ minimum_scores: each }) => each);
    expect(list(chosen), "named when the key was made").toEqual(cases.map(([stored]) => stored));
    const document = JSON.parse(await readFile(file(), "utf8"));
    for (const key of document.keys) delete key.areMinimumsChosen;
    await writeFile(file(), JSON.stringify(document));
    const after = await openKeyring({ dataDir, now });
    expect(list(after)).toEqual(cases.map(([, named]) => named));
  });

  it("knows its keys after a restart, revocations included", async () => {
    const before = await openKeyring({ dataDir, now });
    const kept = await before.create({
      tenant: "acme",
      scopes: ["score:read", "score:read", "admin"],
      minimumScores: { L3: 700 },
      isShadow: true,
      isFirstParty: true,
      label: "gw",
    });
    const revoked = await before.create({ tenant: "acme", scopes: ["admin"] });
    await before.revoke(revoked.description.key_id);
    const after = await openKeyring({ dataDir, now });
    const principal = after.authenticate(`Bearer ${kept.key}`);
    expect(principal).toEqual({
      keyId: kept.description.key_id,
      tenant: "acme",
      scopes: new Set(["score:read", "admin"]),
      minimumScores: { L0: 300, L1: 300, L2: 300, L3: 700 },
      isShadow: true,
      isFirstParty: true,
      voice: hashTenantToVoice("acme"),
    });
    expect(after.authenticate(`Bearer ${kept.key}`)).toBe(principal);
    expect(after.authenticate(`Bearer ${revoked.key}`)).toBeUndefined();
    expect(after.list()).toEqual(before.list());
    expect(after.hasAdmin()).toBe(true);
  });

  it("revokes at once, for good, and repeats itself without change", async () => {
    const keyring = await openKeyring({ dataDir, now });
    const { key, description } = await keyring.create({ tenant: "a", scopes: ["admin"] });
    const first = await keyring.revoke(description.key_id);
    expect(keyring.authenticate(`Bearer ${key}`)).toBeUndefined();
    nowMs += 5000;
    expect(await keyring.revoke(description.key_id)).toEqual(first);
    await expect(keyring.revoke("nobody0000")).rejects.toMatchObject({ code: "not_found" });
    expect(keyring.hasAdmin()).toBe(false);
  });

  it("lets a key go at the millisecond it expires", async () => {
    const keyring = await openKeyring({ dataDir, now });
    const expiresAtMs = nowMs + 1000;
    const { key } = await keyring.create({ tenant: "a", scopes: ["admin"], expiresAtMs });
    nowMs += 999;
    expect(keyring.authenticate(`Bearer ${key}`)).toBeDefined();
    nowMs += 1;
    expect(keyring.authenticate(`Bearer ${key}`)).toBeUndefined();
    expect(keyring.hasAdmin()).toBe(false);
  });

  it("loses no key when many are made at once", async () => {
    const keyring = await openKeyring({ dataDir, now });
    const request = { tenant: "a", scopes: ["score:read"] } as const;
    const made = await Promise.all(Array.from({ length: 12 }, () => keyring.create(request)));
    const after = await openKeyring({ dataDir, now });
    for (const { key } of made) expect(after.authenticate(`Bearer ${key}`)).toBeDefined();
    expect(after.list()).toHaveLength(12);
  });

  it("keeps the old list when a new one cannot be written", async () => {
    const keyring = await openKeyring({ dataDir, now });
    const { key } = await keyring.create({ tenant: "a", scopes: ["admin"] });
    await rm(dataDir, { recursive: true });
    await expect(keyring.create({ tenant: "b", scopes: ["admin"] })).rejects.toThrow(/ENOENT/);
    expect(keyring.list()).toHaveLength(1);
    expect(keyring.authenticate(`Bearer ${key}`)).toBeDefined();
  });

  it("installs the operator's own string without writing it anywhere", async () => {
    const keyring = await openKeyring({ dataDir, now });
    expect(keyring.hasAdmin()).toBe(false);
    keyring.installAdminKey(ADMIN);
    expect(keyring.authenticate(`Bearer ${ADMIN}`)?.scopes).toEqual(new Set(["admin"]));
    expect(keyring.authenticate(`Bearer ${ADMIN}x`)).toBeUndefined();
    expect(keyring.hasAdmin()).toBe(true);
    expect(await readdir(dataDir)).toEqual([]);
    const after = await openKeyring({ dataDir, now });
    expect(after.authenticate(`Bearer ${ADMIN}`)).toBeUndefined();
  });

  it("installs a string that happens to look like one of our keys", async () => {
    const keyring = await openKeyring({ dataDir, now });
    const { text } = generateApiKey("live");
    keyring.installAdminKey(text);
    expect(keyring.authenticate(`Bearer ${text}`)?.scopes).toEqual(new Set(["admin"]));
  });

  it.each(["short", "x".repeat(31), `${"x".repeat(32)} `, `é${"x".repeat(40)}`, "x".repeat(600)])(
    "refuses to install %j",
    async (secret) => {
      const keyring = await openKeyring({ dataDir, now });
      expect(() => keyring.installAdminKey(secret)).toThrow(/admin key/);
    },
  );

  it("installs nothing that could be changed like a key of the file", async () => {
    const keyring = await openKeyring({ dataDir, now });
    keyring.installAdminKey(ADMIN);
    const inEnvironment = { code: "not_found", detail: expect.stringContaining("environment") };
    await expect(keyring.rotate("installed-admin", 0)).rejects.toMatchObject(inEnvironment);
    await expect(keyring.revoke("installed-admin")).rejects.toMatchObject(inEnvironment);
  });

  it.each(["{", '{"format":2,"keys":[]}', "[]", '{"format":1,"keys":[{"keyId":"x"}]}'])(
    "refuses a damaged file: %s",
    async (text) => {
      await writeFile(file(), text);
      await expect(openKeyring({ dataDir, now })).rejects.toThrow(/keys\.json/);
    },
  );
});

describe("a keyring in a cluster", () => {
  const REQUEST = { tenant: "acme", scopes: ["score:read"] as const };

  it("refuses a key that another node revoked before its file says so", async () => {
    const keyring = await openKeyring({ dataDir, now });
    const { key, description } = await keyring.create(REQUEST);
    const header = `Bearer ${key}`;
    expect(keyring.authenticate(header)).toBeDefined();
    const revoked = { ...keyring.findStoredKey(description.key_id)!, revokedAtMs: nowMs };
    const isWritten = keyring.applyReplicatedKey(revoked);
    expect(keyring.authenticate(header)).toBeUndefined();
    await isWritten;
    const again = await openKeyring({ dataDir, now });
    expect(again.authenticate(header)).toBeUndefined();
  });

  it("keeps a key revoked through a change that crossed the revocation on its way", async () => {
    const told: StoredKey[] = [];
    const keyring = await openKeyring({ dataDir, now, onChange: (stored) => told.push(stored) });
    const { key, description } = await keyring.create(REQUEST);
    const keyId = description.key_id;
    const revoked = { ...keyring.findStoredKey(keyId)!, revokedAtMs: nowMs };
    // The revocation comes back from the log first.
    keyring.appendChangesTo(async () => void keyring.applyReplicatedKey(revoked));
    await keyring.change(keyId, { label: "till" });
    await keyring.waitForChanges();
    expect(keyring.authenticate(`Bearer ${key}`)).toBeUndefined();
    expect(keyring.findStoredKey(keyId)).toMatchObject({ label: "till", revokedAtMs: nowMs });
    const further = new Keyring({ dataDir: "", now }, []);
    for (const stored of told) further.applyStoredKey(stored);
    expect(further.findStoredKey(keyId)).toEqual(keyring.findStoredKey(keyId));
    const again = await openKeyring({ dataDir, now });
    expect(again.findStoredKey(keyId)).toEqual(keyring.findStoredKey(keyId));
  });
});

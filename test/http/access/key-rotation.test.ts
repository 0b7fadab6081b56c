// Rotation and change of API keys over a real file and a fake clock: which text opens the door when,
// what survives a restart and a failure, and against a model, whatever order things happen in.
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { RefusalCollector } from "../../../src/http/access/refusals.ts";
import { EARLIER_SECRETS_MAX } from "../../../src/http/access/key-file.ts";
import { generateKeySecret } from "../../../src/http/access/key-format.ts";
import { Keyring, openKeyring } from "../../../src/http/access/keyring.ts";
import { listPrivilegeErrors } from "../../../src/http/access/key-changes.ts";
import type { Scope } from "../../../src/contract/vocabulary.ts";

const HOUR_MS = 3_600_000;
const START_MS = Date.UTC(2026, 0, 1);
const REQUEST = { tenant: "acme", scopes: ["score:read"] } as const;

let dataDir: string;
let nowMs = START_MS;
const now = () => nowMs;
const bearer = (text: string) => `Bearer ${text}`;

beforeEach(async () => {
  dataDir = await mkdtemp(path.join(tmpdir(), "trustrank-rotation-"));
  nowMs = START_MS;
});
afterEach(async () => {
  await rm(dataDir, { recursive: true, force: true });
});

async function openWithKey() {
  const keyring = await openKeyring({ dataDir, now });
  const { key, description } = await keyring.create(REQUEST);
  return { keyring, key, id: description.key_id };
}

describe("rotation", () => {
  it("makes another text of the same key, and both are one holder until the overlap ends", async () => {
    const { keyring, key, id } = await openWithKey();
    expect(keyring.authenticate(bearer(key))?.keyId).toBe(id);
    const rotated = await keyring.rotate(id, HOUR_MS);
    expect(rotated.key).not.toBe(key);
    expect(rotated.description).toMatchObject({
      key_id: id,
      rotated_at: "2026-01-01T00:00:00.000Z",
      overlap_ends_at: "2026-01-01T01:00:00.000Z",
    });
    for (const open of [keyring, await openKeyring({ dataDir, now })]) {
      nowMs = START_MS + HOUR_MS - 1;
      const [old, fresh] = [key, rotated.key].map((text) => open.authenticate(bearer(text)));
      expect(old).toBe(fresh);
      expect(old?.keyId).toBe(id);
      nowMs = START_MS + HOUR_MS;
      expect(open.authenticate(bearer(key))).toBeUndefined();
      expect(open.authenticate(bearer(rotated.key))?.keyId).toBe(id);
      expect(open.list()).toMatchObject([{ overlap_ends_at: null }]);
      nowMs = START_MS;
    }
    expect(await readFile(path.join(dataDir, "keys.json"), "utf8")).not.toContain(
      rotated.key.slice(20, 50),
    );
  });

  it("ends the old text at once with an overlap of 0, and all the ones before it", async () => {
    const { keyring, key, id } = await openWithKey();
    expect(keyring.authenticate(bearer(key))).toBeDefined();
    const second = await keyring.rotate(id, HOUR_MS);
    const third = await keyring.rotate(id, 0);
    expect(keyring.authenticate(bearer(key))).toBeUndefined();
    expect(keyring.authenticate(bearer(second.key))).toBeUndefined();
    expect(keyring.authenticate(bearer(third.key))).toBeDefined();
  });

  it("kills every text with the key", async () => {
    const { keyring, key, id } = await openWithKey();
    const { key: fresh } = await keyring.rotate(id, HOUR_MS);
    await keyring.revoke(id);
    for (const open of [keyring, await openKeyring({ dataDir, now })]) {
      for (const text of [key, fresh]) expect(open.authenticate(bearer(text))).toBeUndefined();
    }
    for (const work of [keyring.rotate(id, 0), keyring.change(id, { label: "x" })]) {
      await expect(work).rejects.toMatchObject({ code: "api_key_revoked" });
    }
    await expect(keyring.rotate("nobody0000", 0)).rejects.toMatchObject({ code: "not_found" });
  });

  it("ends no secret before its time, and says so", async () => {
    const { keyring, key, id } = await openWithKey();
    for (let i = 0; i < EARLIER_SECRETS_MAX; i++) await keyring.rotate(id, HOUR_MS);
    await expect(keyring.rotate(id, HOUR_MS)).rejects.toMatchObject({ code: "api_key_overlaps" });
    expect(keyring.authenticate(bearer(key))).toBeDefined();
    nowMs += HOUR_MS;
    await keyring.rotate(id, HOUR_MS);
    expect(keyring.authenticate(bearer(key))).toBeUndefined();
  });

  it("is taken back whole when it could not be put on record", async () => {
    const { keyring, key, id } = await openWithKey();
    const rotated = await keyring.rotate(id, 0);
    await keyring.change(id, { label: "meanwhile" });
    await rotated.undo();
    expect(keyring.authenticate(bearer(key))).toBeDefined();
    expect(keyring.authenticate(bearer(rotated.key))).toBeUndefined();
    expect(keyring.list()).toMatchObject([{ label: "meanwhile", rotated_at: null }]);
    const next = await keyring.rotate(id, 0);
    await rotated.undo();
    expect(keyring.authenticate(bearer(next.key))).toBeDefined();
  });

  it("tells the holder of a replaced text from a guesser, in the audit alone", async () => {
    const { keyring, key, id } = await openWithKey();
    await keyring.rotate(id, HOUR_MS);
    nowMs += HOUR_MS;
    const guess = generateKeySecret("live", id).text;
    const counted: string[] = [];
    const refusals = new RefusalCollector(({ counts }) =>
      counted.push(...counts.map(({ reason }) => reason)),
    );
    for (const text of [key, guess]) {
      expect(keyring.authenticate(bearer(text))).toBeUndefined();
      refusals.countRefusal(
        {
          head: { authorization: bearer(text) } as never,
          requestId: "r",
          routeIndex: 0,
          principal: {} as never,
          services: { clock: now, keyring, routes: [{ name: "check" }] },
          peerAddress: () => "192.0.2.1",
        },
        "unauthenticated",
      );
    }
    refusals.flush();
    expect(counted).toEqual(["replaced_secret", "wrong_secret"]);
  });

  it("refuses a file with a damaged rotation", async () => {
    const { keyring, id } = await openWithKey();
    await keyring.rotate(id, HOUR_MS);
    const file = path.join(dataDir, "keys.json");
    const text = await readFile(file, "utf8");
    for (const [from, to] of [
      [/"untilMs": \d+/, '"untilMs": "x"'],
      [/"rotatedAtMs": \d+/, '"rotatedAtMs": true'],
      [/"earlierSecrets": \[/, '"earlierSecrets": [1,'],
    ] as const) {
      await writeFile(file, text.replace(from, to));
      await expect(openKeyring({ dataDir, now })).rejects.toThrow(/key at index 0 is damaged/);
    }
  });

  /** What a key is by the page about keys, in the plainest words. */
  interface Model {
    texts: { text: string; untilMs: number }[];
    isRevoked: boolean;
    expiresAtMs: number;
  }

  it("opens the door to the right texts, whatever happens in whatever order", async () => {
    const step = fc.oneof(
      { weight: 4, arbitrary: fc.record({ rotateMs: fc.constantFrom(0, 1, 50, 1000) }) },
      { weight: 4, arbitrary: fc.record({ waitMs: fc.integer({ min: 0, max: 600 }) }) },
      { weight: 2, arbitrary: fc.record({ expireMs: fc.constantFrom(null, 100, 5000) }) },
      { weight: 1, arbitrary: fc.constant("revoke" as const) },
      { weight: 2, arbitrary: fc.constant("restart" as const) },
    );
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 14 }), async (steps) => {
        await rm(path.join(dataDir, "keys.json"), { force: true });
        let { keyring, key, id } = await openWithKey();
        const follower = new Keyring({ dataDir: "", now }, keyring.listStoredKeys());
        const model: Model = {
          texts: [{ text: key, untilMs: Infinity }],
          isRevoked: false,
          expiresAtMs: Infinity,
        };
        for (const each of steps) {
          if (each === "restart") keyring = await openKeyring({ dataDir, now });
          else if (each === "revoke") {
            await keyring.revoke(id);
            model.isRevoked = true;
          } else if ("waitMs" in each) nowMs += each.waitMs;
          else if ("expireMs" in each) {
            if (model.isRevoked) continue;
            const expiresAtMs = each.expireMs === null ? null : nowMs + each.expireMs;
            await keyring.change(id, { expiresAtMs });
            model.expiresAtMs = expiresAtMs ?? Infinity;
          } else {
            const living = model.texts.filter(({ untilMs }) => untilMs > nowMs);
            const mayRotate =
              !model.isRevoked && (each.rotateMs === 0 || living.length <= EARLIER_SECRETS_MAX);
            const rotated = await keyring.rotate(id, each.rotateMs).catch(() => undefined);
            expect(rotated !== undefined).toBe(mayRotate);
            if (rotated === undefined) continue;
            const untilMs = nowMs + each.rotateMs;
            for (const text of model.texts) text.untilMs = Math.min(text.untilMs, untilMs);
            model.texts.push({ text: rotated.key, untilMs: Infinity });
          }
          follower.applyStoredKey(keyring.findStoredKey(id)!);
          for (const { text, untilMs } of model.texts) {
            const isGood = !model.isRevoked && nowMs < model.expiresAtMs && nowMs < untilMs;
            for (const open of [keyring, follower]) {
              expect(open.authenticate(bearer(text)) !== undefined).toBe(isGood);
            }
          }
        }
      }),
      { numRuns: 60 },
    );
  });
});

describe("change", () => {
  it("changes what is named, at once, and nothing else", async () => {
    const { keyring, key, id } = await openWithKey();
    expect(keyring.authenticate(bearer(key))?.scopes).toEqual(new Set(["score:read"]));
    const { before, description } = await keyring.change(id, {
      label: "gateway",
      scopes: ["outcomes:write", "outcomes:write"],
      minimumScores: { L3: 700 },
    });
    expect(before).toMatchObject({ label: null, scopes: ["score:read"] });
    expect(description).toEqual({
      ...before,
      label: "gateway",
      scopes: ["outcomes:write"],
      minimum_scores: { ...before.minimum_scores, L3: 700 },
    });
    for (const open of [keyring, await openKeyring({ dataDir, now })]) {
      const principal = open.authenticate(bearer(key));
      expect(principal?.scopes).toEqual(new Set(["outcomes:write"]));
      expect(principal?.minimumScores.L3).toBe(700);
    }
    await keyring.change(id, { label: null });
    expect(keyring.list()).toMatchObject([{ label: null, scopes: ["outcomes:write"] }]);
  });

  it("gives a key another end, later or none, even when it had come", async () => {
    const { keyring, key, id } = await openWithKey();
    await keyring.change(id, { expiresAtMs: nowMs + 1000 });
    nowMs += 1000;
    expect(keyring.authenticate(bearer(key))).toBeUndefined();
    await keyring.change(id, { expiresAtMs: nowMs + 1 });
    expect(keyring.authenticate(bearer(key))).toBeDefined();
    await keyring.change(id, { expiresAtMs: null });
    nowMs += 1e12;
    expect(keyring.authenticate(bearer(key))).toBeDefined();
  });

  it("keeps minimum scores that were set to the old default on purpose", async () => {
    const { keyring, id } = await openWithKey();
    const minimumScores = { L0: 575, L1: 575, L2: 575, L3: 575 };
    await keyring.change(id, { minimumScores });
    const after = await openKeyring({ dataDir, now });
    expect(after.list()).toMatchObject([{ minimum_scores: minimumScores }]);
  });

  it("changes nothing that the check refuses", async () => {
    const { keyring, id } = await openWithKey();
    const refuse = () => {
      throw new Error("no");
    };
    await expect(keyring.change(id, { label: "x" }, refuse)).rejects.toThrow("no");
    await expect(keyring.rotate(id, 0, refuse)).rejects.toThrow("no");
    expect((await openKeyring({ dataDir, now })).list()).toMatchObject([
      { label: null, rotated_at: null },
    ]);
  });
});

describe("excess", () => {
  const power = (scopes: Scope[], expiresAtMs: number | null = null) => ({ scopes, expiresAtMs });
  const giver = (...scopes: Scope[]) => ({ scopes: new Set(scopes) });

  it("is a scope that the giver lacks and the key did not have", () => {
    const asked = power(["score:read", "kaizen:run"]);
    expect(listPrivilegeErrors(giver("score:read"), null, asked)).toMatchObject([
      { pointer: "/scopes/1", code: "insufficient_scope" },
    ]);
    expect(listPrivilegeErrors(giver("score:read"), null, asked, power(["kaizen:run"]))).toEqual(
      [],
    );
    expect(listPrivilegeErrors(giver("admin"), null, asked)).toEqual([]);
  });

  it("is an admin key that outlives the one that makes it", () => {
    const admin = giver("admin");
    const outlives = [{ pointer: "/expires_at", code: "range" }];
    expect(listPrivilegeErrors(admin, 1000, power(["admin"]))).toMatchObject(outlives);
    expect(listPrivilegeErrors(admin, 1000, power(["admin"], 1001))).toMatchObject(outlives);
    expect(listPrivilegeErrors(admin, 1000, power(["admin"], 1000))).toEqual([]);
    expect(listPrivilegeErrors(admin, 1000, power(["score:read"]))).toEqual([]);
    expect(listPrivilegeErrors(admin, null, power(["admin"]))).toEqual([]);
    // A label of an eternal key may be changed by one that is not.
    expect(listPrivilegeErrors(admin, 1000, power(["admin"]), power(["admin"]))).toEqual([]);
    expect(
      listPrivilegeErrors(admin, 1000, power(["admin"]), power(["admin"], 1000)),
    ).toMatchObject(outlives);
    expect(listPrivilegeErrors(admin, 1000, power(["admin"]), power(["score:read"]))).toMatchObject(
      outlives,
    );
  });
});

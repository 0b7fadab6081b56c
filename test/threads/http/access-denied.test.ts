// Refused authorisations over real processes with two HTTP threads: what of them is in the audit
// view, who may see it, and that no key is ever in it or in the journal.
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { crc32 } from "node:zlib";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { TrustRankClient } from "../../../src/client/client.ts";
import { generateSigningKey } from "../../../src/client/reporting/sign.ts";
import { connectToBoth, startThreads } from "./_service.ts";
import type { Connection, Service } from "./_service.ts";
import { endAll } from "../../cli/_process.ts";

const folder = mkdtempSync(join(tmpdir(), "trustrank-denied-"));
const dataDir = join(folder, "data");
const CHECK = { subject: "agent://acme/ledger-sync", stakes: 5 };
const EVENTS = `SELECT detail->>'reason' AS reason, tenant, actor, detail->>'key_id' AS key_id,
  detail->>'address' AS address, detail->>'route' AS route
  FROM audit_events WHERE event = 'access.denied' GROUP BY ALL ORDER BY ALL`;

interface MadeKey {
  key: string;
  key_id: string;
}

let service: Service;
let both: [Connection, Connection];
const secrets: string[] = [];

beforeAll(async () => {
  service = await startThreads(dataDir);
  both = await connectToBoth(service.url);
});
afterAll(async () => {
  await endAll();
  rmSync(folder, { recursive: true, force: true });
});

async function makeKey(scopes: readonly string[], tenant: string): Promise<MadeKey> {
  const made = (await both[0].ask("/v1/keys", { body: { tenant, scopes } })).json as MadeKey;
  secrets.push(made.key);
  return made;
}

async function eventsFor(key?: string): Promise<unknown[][]> {
  const own = key === undefined ? {} : { key };
  const { json } = await both[0].ask("/v1/query", { ...own, body: { sql: EVENTS } });
  return json.rows as unknown[][];
}

const DIGITS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/** A key of the same id with a guessed secret, its checksum in order. */
function guessOf({ key }: MadeKey): string {
  const covered = key.slice(0, -49) + "g".repeat(43);
  let rest = crc32(covered);
  let checksum = "";
  for (let digit = 0; digit < 6; digit++) {
    checksum = DIGITS[rest % 62]! + checksum;
    rest = Math.floor(rest / 62);
  }
  return covered + checksum;
}

async function registerKey(key: string, agentId: string): Promise<void> {
  const { keyPair } = await generateSigningKey();
  const client = new TrustRankClient({ baseUrl: service.url, apiKey: key });
  await client.registerKey({ keyPair, agentId });
}

describe("a refused authorisation", () => {
  it("is an audit event with its reason, whichever thread refused", async () => {
    const reader = await makeKey(["analytics:read"], "acme");
    const revoked = await makeKey(["score:read"], "acme");
    const writer = await makeKey(["keys:write"], "acme");
    const stranger = await makeKey(["keys:write", "analytics:read"], "globex");
    await both[0].ask(`/v1/keys/${revoked.key_id}`, { method: "DELETE" });
    const keys = `/v1/agents/${encodeURIComponent("agent://denied/one")}/keys`;
    await both[0].ask("/v1/namespaces/denied", { method: "PUT", body: { tenant: "acme" } });
    await registerKey(writer.key, "agent://denied/two");

    for (const each of both) {
      const status = async (key: string, path = "/v1/check", body: unknown = CHECK) =>
        (await each.ask(path, { key, body })).status;
      expect(await status("not-a-key-of-ours-but-secret-0123456789")).toBe(401);
      expect(await status(guessOf(writer))).toBe(401);
      expect(await status(revoked.key)).toBe(401);
      expect(await status(reader.key)).toBe(403);
      expect(await status(reader.key, "/v1/handshake", {})).toBe(403);
      expect(await status(stranger.key, `${keys}/nonce`, {})).toBe(403);
      const headers = { authorization: "" };
      expect((await each.ask("/v1/check", { headers, body: CHECK })).status).toBe(401);
    }
    secrets.push("not-a-key-of-ours-but-secret-0123456789", guessOf(writer));

    const at = "127.0.0.1";
    const scope = ["insufficient_scope", "acme", reader.key_id, reader.key_id, at, "check"];
    const owner = ["namespace_not_owned", "globex", stranger.key_id, stranger.key_id, at];
    const ended = ["revoked_key", "acme", revoked.key_id, revoked.key_id, at, "check"];
    // Whoever guesses is not the key.
    const guessed = ["wrong_secret", "acme", null, writer.key_id, at, "check"];
    await expect
      .poll(() => eventsFor())
      .toEqual([
        scope,
        ["malformed_key", null, null, null, at, "check"],
        [...owner, "reporter_key_nonce"],
        ended,
        guessed,
      ]);
    // A tenant sees what its own keys were refused.
    expect(await eventsFor(reader.key)).toEqual([scope, ended, guessed]);
    expect(await eventsFor(stranger.key)).toEqual([[...owner, "reporter_key_nonce"]]);
  });

  it("does not fill the journal, and no key is in it", async () => {
    const positionOf = async () => {
      const { text } = await both[0].ask("/metrics");
      return Number(/^trustrank_journal_position (\d+)$/m.exec(text)?.[1]);
    };
    const before = await positionOf();
    const sql = `SELECT detail->>'reason' AS reason, sum(CAST(detail->>'count' AS INTEGER))
      FROM audit_events WHERE event = 'access.denied' GROUP BY ALL ORDER BY ALL`;
    for (let round = 0; round < 300; round++) {
      for (const each of both) await each.ask("/v1/check", { key: `wrong-${round}`, body: CHECK });
    }
    expect((await positionOf()) - before).toBeLessThanOrEqual(2);
    both.forEach((connection) => connection.close());
    service.started.process.kill("SIGTERM");
    const { code, stderr } = await service.started.ended;
    expect(code).toBe(0);

    service = await startThreads(dataDir);
    both = await connectToBoth(service.url);
    // At its end the service has put on record what it had only counted.
    const counted = async () => (await both[0].ask("/v1/query", { body: { sql } })).json.rows;
    await expect.poll(counted).toEqual([
      ["insufficient_scope", 4],
      ["malformed_key", 604],
      ["namespace_not_owned", 2],
      ["revoked_key", 2],
      ["wrong_secret", 2],
    ]);
    const journal = readdirSync(join(dataDir, "journal"));
    const bytes = journal.map((name) => readFileSync(join(dataDir, "journal", name), "latin1"));
    for (const text of [...bytes, stderr]) {
      for (const secret of secrets) expect(text).not.toContain(secret.slice(-30));
      expect(text).not.toContain("wrong-1");
    }
  });
});

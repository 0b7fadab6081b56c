// Rotation and change of API keys over two HTTP threads of a real process: each thread once as the one
// that is told, once as the one that is asked right after the answer.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { afterAll, beforeAll, describe, expect, it } from "vitest";

import { connectToBoth, startThreads } from "./_service.ts";
import type { Connection } from "./_service.ts";
import { endAll } from "../../cli/_process.ts";

const folder = mkdtempSync(join(tmpdir(), "trustrank-threads-keys-"));
const CHECK = { subject: "agent://acme/ledger-sync", stakes: 5 };

afterAll(async () => {
  await endAll();
  rmSync(folder, { recursive: true, force: true });
});

describe("two HTTP threads", () => {
  let both: [Connection, Connection];
  const pairs = () => [both, both.toReversed() as [Connection, Connection]];

  beforeAll(async () => {
    const service = await startThreads(join(folder, "data"));
    both = await connectToBoth(service.url);
  });
  afterAll(() => both.forEach((connection) => connection.close()));

  it("a key's new secret and new scopes hold on both before they are answered", async () => {
    for (const [one, other] of [...pairs(), ...pairs()]) {
      const request = { tenant: "acme", scopes: ["score:read", "outcomes:write"] };
      const made = await one.ask("/v1/keys", { body: request });
      const { key, key_id } = made.json as { key: string; key_id: string };
      const check = async (through: Connection, text: string) =>
        (await through.ask("/v1/check", { key: text, body: CHECK })).status;
      const rotate = async (overlapSec: number) => {
        const body = { overlap_sec: overlapSec };
        const rotated = await one.ask(`/v1/keys/${key_id}/rotate`, { body });
        expect(rotated.status).toBe(200);
        return rotated.json.key as string;
      };
      for (const each of [other, one]) expect(await check(each, key)).toBe(200);
      const second = await rotate(3600);
      for (const text of [key, second]) {
        for (const each of [other, one]) expect(await check(each, text)).toBe(200);
      }
      const third = await rotate(0);
      for (const each of [other, one]) {
        const codes = [await check(each, key), await check(each, second), await check(each, third)];
        expect(codes).toEqual([401, 401, 200]);
      }
      const path = `/v1/keys/${key_id}`;
      await one.ask(path, { method: "PATCH", body: { scopes: ["outcomes:write"] } });
      for (const each of [other, one]) expect(await check(each, third)).toBe(403);
      await one.ask(path, { method: "DELETE" });
      for (const each of [other, one]) expect(await check(each, third)).toBe(401);
    }
  });
});

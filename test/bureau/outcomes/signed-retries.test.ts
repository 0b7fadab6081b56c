// Signed retries that are older than the replay guard remembers: the store knows the first receipt.
// What the guard still holds in these tests is named as forgotten, so that only the store is asked.
import { afterEach, describe, expect, it } from "vitest";
import {
  AGENT,
  closeServices,
  joseSignature,
  jtiAt,
  newPair,
  NOW_MS,
  openService,
  outcome,
  type SigningService,
} from "../../http/_signing.ts";

afterEach(closeServices);

const DAY_MS = 86_400_000;
/** As if everything recorded up to a minute ago were forgotten. */
const FORGOTTEN = { isStored: true, rememberedSinceMs: NOW_MS + 120_000 };
/** The store applies in its own time. */
const OLD_MS = NOW_MS - 3 * DAY_MS;

async function register(service: SigningService) {
  const pair = newPair();
  await service.register(pair, AGENT, { not_before: NOW_MS - 30 * DAY_MS });
  return pair;
}

const sqlOf = async (service: SigningService, sql: string): Promise<unknown[][]> =>
  (await service.call("POST", "/v1/query", { sql })).json.rows;

const KEYLESS = "agent://shop/keyless";

describe("a signed retry that the guard has forgotten", () => {
  it("gets the first receipt; another body is a contradiction on record", async () => {
    const service = await openService(FORGOTTEN);
    const pair = await register(service);
    const jti = jtiAt(OLD_MS);
    const body = outcome({ stakes: 3 });
    const signature = await joseSignature(pair, body, { jti });
    const first = await service.post("/v1/outcomes", body, signature);
    expect(first).toMatchObject({ status: 201, json: { duplicate: false } });
    const position = service.ledger.position();

    // Signed anew, as a client does that keeps the id: other signature bytes, the same body.
    const later = Math.floor(NOW_MS / 1000) - 5;
    const again = await joseSignature(pair, body, { jti, iat: later });
    const { outcome_id, recorded_at } = first.json;
    expect(await service.post("/v1/outcomes", body, again)).toMatchObject({
      status: 200,
      json: { outcome_id, recorded_at, position, duplicate: true, signature: "reporter" },
    });
    expect(service.ledger.position()).toBe(position);

    const other = outcome({ stakes: 4 });
    const conflict = await service.post(
      "/v1/outcomes",
      other,
      await joseSignature(pair, other, { jti }),
    );
    expect(conflict).toMatchObject({ status: 409, json: { code: "signature_replayed" } });
    expect(service.ledger.position()).toBe(position + 1);
    expect(await sqlOf(service, "SELECT count(*) FROM outcomes")).toEqual([[1]]);
    await expect
      .poll(() => sqlOf(service, "SELECT event, agent, kid FROM audit_events ORDER BY position"))
      .toEqual([
        ["reporter_key.registered", AGENT, pair.kid],
        ["signature.replayed", AGENT, pair.kid],
      ]);
  });

  it("is proved before it is answered, and never older than seven days", async () => {
    const service = await openService(FORGOTTEN);
    const pair = await register(service);
    const jti = jtiAt(OLD_MS);
    const signature = await joseSignature(pair, outcome(), { jti });
    expect((await service.post("/v1/outcomes", outcome(), signature)).status).toBe(201);
    const forged = { ...pair, privateKey: newPair().privateKey };
    const bad = await joseSignature(forged, outcome(), { jti });
    expect((await service.post("/v1/outcomes", outcome(), bad)).json.code).toBe(
      "signature_invalid",
    );
    const ancient = await joseSignature(pair, outcome(), { jti: jtiAt(NOW_MS - 8 * DAY_MS) });
    expect((await service.post("/v1/outcomes", outcome(), ancient)).json.code).toBe(
      "signature_stale",
    );
  });

  it("is new when nothing is on record, and counts once when it comes twice at once", async () => {
    const service = await openService(FORGOTTEN);
    const pair = await register(service);
    const signature = await joseSignature(pair, outcome(), { jti: jtiAt(OLD_MS) });
    const replies = await Promise.all(
      Array.from({ length: 8 }, () => service.post("/v1/outcomes", outcome(), signature)),
    );
    const statuses = replies.map((reply) => reply.status);
    expect(statuses.filter((status) => status === 201)).toHaveLength(1);
    expect(statuses.filter((status) => status === 200)).toHaveLength(7);
    expect(new Set(replies.map((reply) => reply.json.outcome_id)).size).toBe(1);
  });

  it("holds for batches and for items of a batch", async () => {
    const service = await openService(FORGOTTEN);
    const pair = await register(service);
    const jti = jtiAt(OLD_MS);
    const rows = [1, 2, 3].map((stakes) => JSON.parse(outcome({ stakes })) as object);
    const text = JSON.stringify([...rows, { subject: 1 }]);
    const signature = await joseSignature(pair, text, { jti });
    const first = await service.post("/v1/outcomes/batch", text, signature);
    const statusesOf = (reply: { json: { items: { status: number }[] } }) =>
      reply.json.items.map((item) => item.status);
    expect(first).toMatchObject({ status: 200 });
    expect(statusesOf(first)).toEqual([201, 201, 201, 400]);
    const again = await service.post("/v1/outcomes/batch", text, signature);
    expect(again).toMatchObject({ status: 200 });
    expect(statusesOf(again)).toEqual([200, 200, 200, 400]);
    for (const index of [0, 1, 2]) {
      const { outcome_id, position, evidence_id } = first.json.items[index].result;
      expect(again.json.items[index].result).toMatchObject({
        outcome_id,
        position,
        evidence_id,
        evidence_index: index,
        duplicate: true,
      });
    }
    const other = JSON.stringify(rows.slice(1));
    const otherSignature = await joseSignature(pair, other, { jti });
    const conflict = await service.post("/v1/outcomes/batch", other, otherSignature);
    expect(conflict).toMatchObject({ status: 409, json: { code: "signature_replayed" } });
    // One id is good for a batch or for an outcome, not for both.
    const alone = await joseSignature(pair, outcome(), { jti });
    expect((await service.post("/v1/outcomes", outcome(), alone)).json.code).toBe(
      "signature_replayed",
    );

    const body = outcome({ stakes: 9 });
    const own = await joseSignature(pair, body, { jti: jtiAt(OLD_MS) });
    const items = JSON.stringify([
      { body, signature: own },
      JSON.parse(outcome({ stakes: 8, reporter: KEYLESS })),
    ]);
    const mixed = await service.post("/v1/outcomes/batch", items);
    expect(statusesOf(mixed)).toEqual([201, 201]);
    const repeated = await service.post("/v1/outcomes/batch", items);
    expect(statusesOf(repeated)).toEqual([200, 201]);
    expect(repeated.json.items[0].result.outcome_id).toBe(mixed.json.items[0].result.outcome_id);
    expect(await sqlOf(service, "SELECT count(*) FROM outcomes WHERE stakes < 8")).toEqual([[3]]);
  });

  it("can be found in SQL by what its receipt says", async () => {
    const service = await openService({ isStored: true });
    const pair = await register(service);
    const rows = [1, 2, 3].map((stakes) => JSON.parse(outcome({ stakes })) as object);
    const text = JSON.stringify(rows);
    const batch = await service.post("/v1/outcomes/batch", text, await joseSignature(pair, text));
    expect(batch).toMatchObject({ status: 200 });
    const { evidence_id, evidence_index, position } = batch.json.items[2].result;
    const sql = `SELECT position, stakes FROM outcomes
      WHERE evidence_id = '${evidence_id}' AND evidence_index = ${evidence_index}`;
    await expect.poll(() => sqlOf(service, sql)).toEqual([[position, 3]]);
  });
});

// An outcome that comes again, over real HTTP, by another route or in another encoding: what is
// compared is what was said, and an id means it once.
import { pack } from "msgpackr";
import { afterEach, describe, expect, it } from "vitest";
import {
  closeServices,
  joseSignature,
  newPair,
  NOW_MS,
  openService,
  outcome,
  type Reply,
  type SigningService,
} from "../_signing.ts";

afterEach(closeServices);

const ALONE = "/v1/outcomes";
const BATCH = "/v1/outcomes/batch";
const MSGPACK = "application/msgpack";
const LINES = "application/x-ndjson";

type Send = (service: SigningService, members: Record<string, unknown>) => Promise<Reply>;

const packed = (value: unknown) => new Uint8Array(pack(value));
const membersOf = (changes: Record<string, unknown>) =>
  JSON.parse(outcome(changes)) as Record<string, unknown>;

/** The answer to the one row of a batch, as one that comes alone gets it. */
async function ofRow(reply: Promise<Reply>): Promise<Reply> {
  const { headers, json } = await reply;
  const [item] = json.items;
  return { status: item.status, headers, json: item.result ?? item.problem };
}

const WAYS: readonly [string, Send][] = [
  ["alone, JSON", (service, said) => service.post(ALONE, outcome(said))],
  [
    "alone, JSON of another order",
    (service, said) => {
      const members = Object.entries(membersOf(said)).toReversed();
      return service.post(ALONE, JSON.stringify(Object.fromEntries(members), null, 2));
    },
  ],
  [
    "alone, MessagePack",
    (service, said) => service.post(ALONE, packed(membersOf(said)), undefined, MSGPACK),
  ],
  ["in an array", (service, said) => ofRow(service.post(BATCH, `[${outcome(said)}]`))],
  [
    "in lines",
    (service, said) => ofRow(service.post(BATCH, `${outcome(said)}\n`, undefined, LINES)),
  ],
  [
    "in an array, MessagePack",
    (service, said) => ofRow(service.post(BATCH, packed([membersOf(said)]), undefined, MSGPACK)),
  ],
];

describe("an outcome with an id", () => {
  it.each(WAYS)("first sent %s, is known again however it comes", async (_, first) => {
    const service = await openService();
    const cases: Record<string, unknown>[] = [
      { id: "untimed", stakes: 0.1 },
      { id: "now", settled_at: NOW_MS, action: "shop.buy", request_id: "r-1" },
      { id: "then", settled_at: new Date(NOW_MS - 60_000).toISOString(), agent_fault: true },
    ];
    for (const said of cases) {
      service.clock.nowMs = NOW_MS;
      const { status, json } = await first(service, said);
      expect({ status, json }).toMatchObject({ status: 201 });
      const position = service.ledger.position();
      // Later: a time that nobody named is not the same at the second sending.
      service.clock.nowMs = NOW_MS + 30_000;
      for (const [name, again] of WAYS) {
        const { outcome_id, recorded_at } = json;
        expect(await again(service, said), name).toMatchObject({
          status: 200,
          json: { outcome_id, recorded_at, position: json.position, duplicate: true },
        });
        const changed = await again(service, { ...said, stakes: 7 });
        expect(changed, name).toMatchObject({
          status: 409,
          json: { code: "idempotency_conflict" },
        });
      }
      expect(service.ledger.position()).toBe(position);
    }
  });

  it("is known again after a restart, by another route", async () => {
    const before = await openService();
    const said = { id: "kept", settled_at: NOW_MS };
    const first = await before.post(ALONE, outcome(said));
    const { dataDir } = before;
    await before.close();
    const service = await openService({ dataDir });
    for (const [name, again] of WAYS) {
      const { outcome_id } = first.json;
      const reply = await again(service, said);
      expect(reply, name).toMatchObject({ status: 200, json: { outcome_id, duplicate: true } });
      const changed = await again(service, { id: "kept", settled_at: NOW_MS - 1 });
      expect(changed.status, name).toBe(409);
    }
  });

  it("counts once, reported before its reporter signed and since", async () => {
    const service = await openService();
    const pair = newPair();
    const body = outcome({ id: "both" });
    const first = await service.post(ALONE, body);
    expect(first.status).toBe(201);
    const rows = `[${body}]`;
    expect((await ofRow(service.post(BATCH, rows))).status).toBe(200);
    await service.register(pair);
    const copies = [
      await service.post(ALONE, body, await joseSignature(pair, body)),
      await ofRow(service.post(BATCH, rows, await joseSignature(pair, rows))),
    ];
    for (const copy of copies) {
      expect(copy).toMatchObject({ status: 200, json: { outcome_id: first.json.outcome_id } });
    }
  });
});

it("an idempotency key means one content, in either encoding", async () => {
  const service = await openService();
  const key = (await service.keyring.create({ tenant: "acme", scopes: ["outcomes:write"] })).key;
  const send = async (body: string | Uint8Array<ArrayBuffer>, type: string) => {
    const headers = {
      authorization: `Bearer ${key}`,
      "content-type": type,
      "idempotency-key": "attempt-1",
    };
    const response = await fetch(service.base + ALONE, { method: "POST", headers, body });
    return response.status;
  };
  expect(await send(outcome(), "application/json")).toBe(201);
  expect(await send(packed(membersOf({})), MSGPACK)).toBe(200);
  expect(await send(packed(membersOf({ outcome: 0 })), MSGPACK)).toBe(409);
});

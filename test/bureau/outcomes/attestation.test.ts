// Outcomes that another party attests, over real HTTP, ledger and pool: what they weigh, that a
// transaction counts once, and which documents refuse the outcome.
import fc from "fast-check";
import { afterEach, describe, expect, it } from "vitest";
import { DAY_MS } from "../../../src/contract/units.ts";
import {
  AGENT,
  closeServices,
  joseSignature,
  newPair,
  NOW_MS,
  openService,
  SUBJECT,
} from "../../http/_signing.ts";
import {
  attest,
  evidenceOf,
  grant,
  type Members,
  openParties,
  outcomeOf,
  report,
  send,
  SETTLED_MS,
  transactionOf,
  verifyRecords,
} from "./_attestation.ts";

afterEach(closeServices);

const COURT = "agent://court/arbiter";
const REFUSED = { pointer: "/attestation" };

describe("a cosigned outcome", () => {
  it("weighs above `counterparty`, and the receipt says who attested it", async () => {
    const parties = await openParties();
    const { json, status } = await report(parties, outcomeOf(await attest(parties.seller)));
    expect(status).toBe(201);
    expect(json).toMatchObject({ attested: "cosigned", claimed_grade: "counterparty" });
    const plain = await openParties();
    const { json: without } = await report(plain, outcomeOf(undefined));
    expect(without).not.toHaveProperty("attested");
    const [attested, reported] = [await evidenceOf(parties), await evidenceOf(plain)];
    expect(attested.successes_90d / reported.successes_90d).toBeCloseTo(0.9 / 0.6, 5);
  });

  it("counts once: a repeat gets the first receipt, another result is 409", async () => {
    const parties = await openParties();
    const attestation = await attest(parties.seller);
    const first = await report(parties, outcomeOf(attestation, { id: "order-1" }));
    expect(first).toMatchObject({ status: 201, json: { duplicate: false } });
    const { outcome_id, position } = first.json;
    // Another id, another signature and another document over the same transaction.
    const iat = Math.floor(NOW_MS / 1000) - 30;
    const again = await attest(parties.seller, transactionOf(), { iat });
    for (const changes of [{ id: "order-2" }, { grade: "onchain" }]) {
      expect(await report(parties, outcomeOf(again, changes))).toMatchObject({
        status: 200,
        json: { duplicate: true, outcome_id, position },
      });
    }
    const other = await attest(parties.seller, transactionOf({ stakes: 10 }));
    const conflict = await report(parties, outcomeOf(other, { stakes: 10 }));
    expect(conflict).toMatchObject({ status: 409, json: { code: "idempotency_conflict" } });
    expect((await evidenceOf(parties)).outcomes).toBe(1);

    // Kept by the journal, not by the process.
    await parties.service.close();
    const { dataDir } = parties.service;
    const restarted = { ...parties, service: await openService({ dataDir }) };
    const { json } = await restarted.service.call("POST", "/v1/keys", {
      tenant: "carrier",
      scopes: ["outcomes:write"],
    });
    const later = await report({ ...restarted, key: json.key }, outcomeOf(again));
    expect(later).toMatchObject({ status: 200, json: { duplicate: true, outcome_id } });
  });

  it("leaves the id free for the other direction and for other parties", async () => {
    const parties = await openParties();
    const { buyer, seller } = parties;
    expect((await report(parties, outcomeOf(await attest(seller)))).status).toBe(201);
    const swapped = { subject: AGENT, reporter: SUBJECT };
    const body = outcomeOf(await attest(buyer, transactionOf(swapped)), swapped);
    const back = await send(parties, body, await joseSignature(seller, body));
    expect(back).toMatchObject({ status: 201, json: { attested: "cosigned" } });
  });

  it("is not what an unverified document names: its id stays free", async () => {
    const parties = await openParties();
    const attestation = await attest(parties.seller);
    const forged = `${attestation.slice(0, -8)}AAAAAAAA`;
    const { json } = await report(parties, outcomeOf(forged));
    expect(json).toMatchObject({ code: expect.stringMatching(/^attestation_/), errors: [REFUSED] });
    expect((await report(parties, outcomeOf(attestation))).status).toBe(201);
  });

  it("weighs as what it says where that is less, and keeps the operator's word", async () => {
    const parties = await openParties();
    const self = transactionOf({ transaction_id: "self" });
    const own = await report(
      parties,
      outcomeOf(await attest(parties.seller, self), { grade: "self" }),
    );
    expect(own.json).toMatchObject({ attested: "cosigned" });
    expect(own.json).not.toHaveProperty("claimed_grade");
    expect((await evidenceOf(parties)).successes_90d).toBe(0);
    const settled = transactionOf({ transaction_id: "onchain" });
    const body = outcomeOf(await attest(parties.seller, settled), { grade: "onchain" });
    // The admin key is first-party.
    const signature = await joseSignature(parties.buyer, body);
    const trusted = await parties.service.post("/v1/outcomes", body, signature);
    expect(trusted).toMatchObject({ status: 201, json: { attested: "cosigned" } });
    expect(trusted.json).not.toHaveProperty("claimed_grade");
  });
});

describe("a mediated outcome", () => {
  it("needs a key of a mediator whom the operator names, a third to both parties", async () => {
    const parties = await openParties();
    const { service } = parties;
    const arbiter = newPair();
    await service.register(arbiter, COURT);
    const deal = (id: string, changes: Members = {}) =>
      transactionOf({ transaction_id: id, outcome: 0, ...changes });
    const reportDeal = async (id: string, changes: Members = {}) =>
      report(
        parties,
        outcomeOf(await attest(arbiter, deal(id, changes)), { outcome: 0, ...changes }),
      );
    const refused = { status: 400, json: { code: "attestation_key_refused", errors: [REFUSED] } };
    expect(await reportDeal("a")).toMatchObject(refused);
    await grant(service, "court", { tenant: "court" });
    expect(await reportDeal("a")).toMatchObject(refused);
    await grant(service, "court", { tenant: "court", mediator: true });
    expect(await reportDeal("a")).toMatchObject({ status: 201, json: { attested: "mediator" } });
    expect(await reportDeal("a")).toMatchObject({ status: 200, json: { duplicate: true } });
    // Subjects without a namespace have nobody who could cosign.
    expect(await reportDeal("b", { subject: "a plain seller" })).toMatchObject({
      status: 201,
      json: { attested: "mediator" },
    });
    await grant(service, "court", { tenant: "court", mediator: false });
    expect(await reportDeal("c")).toMatchObject(refused);
    // A party is no third, named or not.
    for (const tenant of ["sellers", "buyers"]) {
      const { status } = await service.call("POST", "/v1/namespaces/court/transfer", {
        tenant,
        keep_keys: true,
      });
      expect(status).toBe(200);
      await grant(service, "court", { tenant, mediator: true });
      expect(await reportDeal("c")).toMatchObject(refused);
    }
  });
});

describe("an attestation", () => {
  it("is refused where its signer, audience, age or transaction is another", async () => {
    const parties = await openParties();
    const { service, buyer, seller } = parties;
    await grant(service, "twin", { tenant: "buyers" });
    const [twin, arbiter, revoked, old] = [newPair(), newPair(), newPair(), newPair()];
    const not_before = NOW_MS - 30 * DAY_MS;
    await service.register(old, "agent://market/old", { not_before });
    await service.register(twin, "agent://twin/seller");
    await service.register(arbiter, COURT);
    await service.register(revoked, "agent://market/clerk");
    const clerk = `/v1/agents/${encodeURIComponent("agent://market/clerk")}/keys/revoke`;
    expect((await service.call("POST", clerk, { kid: revoked.kid })).status).toBe(200);
    const sec = (ms: number) => ({ iat: Math.floor(ms / 1000) });
    const cases: [code: string, document: Promise<string>, changes?: Members][] = [
      ["malformed", Promise.resolve("x")],
      ["malformed", attest(seller, transactionOf(), { typ: "outcome+jws" })],
      ["malformed", attest(seller, transactionOf(), { jti: "x" })],
      ["malformed", attest(seller, transactionOf({ more: 1 }))],
      ["malformed", attest(seller, transactionOf({ transaction_id: undefined }))],
      ["mismatch", attest(seller, transactionOf(), { aud: "trustrank:other" })],
      ["mismatch", attest(seller, transactionOf({ subject: AGENT, reporter: SUBJECT }))],
      ["mismatch", attest(seller, transactionOf({ reporter: "agent://shop/other" }))],
      ["mismatch", attest(seller, transactionOf({ outcome: 0 }))],
      ["mismatch", attest(seller, transactionOf({ stakes: 90 }))],
      ["mismatch", attest(seller, transactionOf({ settled_at: SETTLED_MS - 1 }))],
      ["mismatch", attest(seller), { settled_at: undefined }],
      ["key_refused", attest(newPair())],
      ["key_refused", attest(buyer)],
      ["key_refused", attest(arbiter)],
      ["key_refused", attest(revoked)],
      ["key_refused", attest(twin)],
      [
        "key_refused",
        attest(twin, transactionOf({ subject: "agent://twin/seller" })),
        { subject: "agent://twin/seller" },
      ],
      ["key_refused", attest(seller, transactionOf(), sec(NOW_MS - 8 * DAY_MS))],
      ["stale", attest(old, transactionOf(), sec(NOW_MS - 8 * DAY_MS))],
      ["stale", attest(seller, transactionOf(), sec(NOW_MS + 120_000))],
      ["invalid", attest({ ...seller, privateKey: buyer.privateKey })],
    ];
    const before = service.ledger.position();
    for (const [code, document, changes] of cases) {
      const reply = await report(parties, outcomeOf(await document, changes));
      expect(reply, `${code} ${await document}`).toMatchObject({
        status: 400,
        json: {
          code: `attestation_${code}`,
          errors: [{ ...REFUSED, code: `attestation_${code}` }],
        },
      });
    }
    const unsigned = await send(parties, outcomeOf(await attest(seller)));
    expect(unsigned.json.code).toBe("signature_required");
    const keyless = { reporter: "agent://free/buyer" };
    const bare = outcomeOf(await attest(seller, transactionOf(keyless)), keyless);
    expect((await send(parties, bare)).json).toMatchObject({
      code: "attestation_invalid",
      errors: [REFUSED],
    });
    expect(service.ledger.position()).toBe(before);
  });

  it("of before what the guard remembers is refused, as its outcome may have been counted", async () => {
    const parties = await openParties({ rememberedSinceMs: NOW_MS - DAY_MS });
    const iat = Math.floor((NOW_MS - 2 * DAY_MS) / 1000);
    const seller = newPair();
    const not_before = NOW_MS - 30 * DAY_MS;
    await parties.service.register(seller, "agent://market/old", { not_before });
    const { json } = await report(
      parties,
      outcomeOf(await attest(seller, transactionOf(), { iat })),
    );
    expect(json).toMatchObject({ code: "attestation_stale", errors: [REFUSED] });
  });

  it("is never taken once any character of it is another, or moved to another outcome", async () => {
    const parties = await openParties();
    const document = await attest(parties.seller);
    const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.= ".split(
      "",
    );
    const damage = fc
      .tuple(fc.nat(document.length - 1), fc.constantFrom(...alphabet, ""))
      .map(([at, letter]) => document.slice(0, at) + letter + document.slice(at + 1))
      .filter((text) => text !== document);
    const moved = fc.constantFrom<Members>(
      { subject: "agent://market/other" },
      { reporter: "agent://shop/other" },
      { outcome: 0 },
      { stakes: 8 },
      { settled_at: SETTLED_MS + 1 },
    );
    const attempts = fc.oneof(
      damage.map((text) => outcomeOf(text)),
      moved.map((changes) => outcomeOf(document, changes)),
    );
    const before = parties.service.ledger.position();
    await fc.assert(
      fc.asyncProperty(attempts, async (body) => {
        const { status, json } = await report(parties, body);
        // The buyer's key does not sign for another reporter: that comes before the attestation.
        if (json.code === "signature_key_mismatch") return;
        expect(status).toBe(400);
        expect(json).toMatchObject({
          code: expect.stringMatching(/^attestation_/),
          errors: [REFUSED],
        });
      }),
      { numRuns: 150 },
    );
    expect(parties.service.ledger.position()).toBe(before);
    expect((await report(parties, outcomeOf(document))).status).toBe(201);
  });
});

describe.each([{ isRowByRow: false }, { isRowByRow: true }])("in batches, %o", (options) => {
  const route = "/v1/outcomes/batch";

  it("each row is attested for itself and a transaction counts once", async () => {
    const parties = await openParties(options);
    const attestation = await attest(parties.seller);
    const next = transactionOf({ transaction_id: "deal-2" });
    const rows = [
      outcomeOf(attestation),
      outcomeOf(undefined, { id: "plain" }),
      outcomeOf(attestation, { stakes: 10 }),
      outcomeOf(await attest(parties.seller, next), { grade: "escrow" }),
      outcomeOf(attestation, { id: "again" }),
    ];
    const body = `[${rows.join()}]`;
    const signature = await joseSignature(parties.buyer, body);
    const { json } = await send(parties, body, signature, route);
    expect(json.items).toMatchObject([
      { status: 201, result: { attested: "cosigned", claimed_grade: "counterparty" } },
      { status: 201 },
      { status: 400, problem: { code: "attestation_mismatch", errors: [REFUSED] } },
      { status: 201, result: { attested: "cosigned", claimed_grade: "escrow" } },
      { status: 200, result: { duplicate: true } },
    ]);
    expect(json.items[1].result).not.toHaveProperty("attested");
    // Checked again from the files alone.
    expect(verifyRecords(parties.service).invalidLsns).toEqual([]);
    const tampered = verifyRecords(parties.service, (record) => ({
      ...record,
      ...(record.attestation === undefined
        ? {}
        : { attestation: { ...record.attestation, transactionId: "deal-9" } }),
    }));
    expect(tampered.invalidLsns).toHaveLength(2);
  });

  it("an unsigned row with an attestation is refused, the others are taken", async () => {
    const parties = await openParties(options);
    const free = { reporter: "agent://free/buyer" };
    const bare = outcomeOf(await attest(parties.seller, transactionOf(free)), free);
    const { json } = await send(
      parties,
      `[${bare},${outcomeOf(undefined, free)}]`,
      undefined,
      route,
    );
    expect(json.items).toMatchObject([
      { status: 400, problem: { code: "attestation_invalid", errors: [REFUSED] } },
      { status: 201 },
    ]);
  });
});

it("items signed each for itself are attested, too", async () => {
  const parties = await openParties();
  const body = outcomeOf(await attest(parties.seller));
  const items = [{ body, signature: await joseSignature(parties.buyer, body) }];
  const { json } = await send(parties, JSON.stringify(items), undefined, "/v1/outcomes/batch");
  expect(json.items).toMatchObject([{ status: 201, result: { attested: "cosigned" } }]);
});

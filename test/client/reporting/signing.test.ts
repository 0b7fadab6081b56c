// Signed outcomes from the client to the running service: a key registered with proof of
// possession, outcomes alone and in batches, and what comes of every kind of lie.
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { TrustRankClient } from "../../../src/client/client.ts";
import { TrustRankError } from "../../../src/client/errors.ts";
import { outcomeHook } from "../../../src/client/reporting/outcome-hook.ts";
import type { FetchLike } from "../../../src/client/runtime.ts";
import {
  createOutcomeSigner,
  generateSigningKey,
  importSigningKey,
  type OutcomeSigner,
  signOutcome,
  signTransaction,
} from "../../../src/client/reporting/sign.ts";
import { BATCH_ITEMS_MAX, OUTCOME_BATCH_BYTES_MAX } from "../../../src/contract/limits.ts";
import type { OutcomeRequest } from "../../../src/contract/schemas/outcomes.ts";
import { runCommand } from "../../cli/_process.ts";
import { type LiveService, startLiveService } from "../_live.ts";
import { rejection } from "../_replies.ts";

const REPORTER = "agent://acme/buyer";
const SUBJECT = "agent://shop/seller";
const DAY_MS = 86_400_000;

let service: LiveService;
let signer: OutcomeSigner;
beforeAll(async () => {
  service = await startLiveService();
  const { keyPair } = await generateSigningKey();
  signer = await openClient().registerKey({ keyPair });
});
afterAll(() => service.stop());

const openClient = (more: object = {}) =>
  new TrustRankClient({ ...service, agentId: REPORTER, slowTimeoutMs: 30_000, ...more });

let count = 0;
function outcome(more: Partial<OutcomeRequest> = {}): OutcomeRequest {
  count += 1;
  const id = `order-${count}`;
  const members = { subject: SUBJECT, reporter: REPORTER, outcome: 1, stakes: 5, id } as const;
  return { ...members, grade: "counterparty", ...more };
}

async function codeOf(client: TrustRankClient, given = outcome()): Promise<string> {
  const thrown = await rejection(client.reportOutcome(given));
  expect(thrown).toBeInstanceOf(TrustRankError);
  expect((thrown as TrustRankError).isTransient).toBe(false);
  const [result] = await client.reportOutcomes([given]);
  expect(result?.error?.code).toBe((thrown as TrustRankError).code);
  return (thrown as TrustRankError).code;
}

describe("registering a key", () => {
  it("makes it the agent's, by proof of possession, for this service", async () => {
    const { keys } = await service.call("GET", `/v1/agents/${encodeURIComponent(REPORTER)}/keys`);
    expect(keys).toMatchObject([{ kid: signer.kid, state: "active", tenant: "operator" }]);
    expect(await openClient().serviceId()).toMatch(/^trustrank:/);
  });

  it("takes times and an overlap, and lets the old key go on for that long", async () => {
    const agentId = "agent://acme/other";
    const client = openClient({ agentId });
    const [first, second] = [await generateSigningKey(), await generateSigningKey()];
    const old = await client.registerKey({ keyPair: first.keyPair });
    const expires = Date.now() + DAY_MS;
    const next = await client.registerKey({ keyPair: second.keyPair, overlapSec: 0, expires });
    const { keys } = await service.call("GET", `/v1/agents/${encodeURIComponent(agentId)}/keys`);
    expect(keys.map((key: { kid: string; state: string }) => [key.kid, key.state])).toEqual([
      [old.kid, "retired"],
      [next.kid, "active"],
    ]);
    expect(keys[1].expires_at).toBe(new Date(expires).toISOString());
    const given = outcome({ reporter: agentId });
    expect(await codeOf(openClient({ agentId, signer: old }), given)).toBe(
      "signature_key_inactive",
    );
  });

  it("is refused for a key of another agent, and needs an agent at all", async () => {
    const { keyPair } = await generateSigningKey();
    await openClient({ agentId: "agent://acme/third" }).registerKey({ keyPair });
    const stolen = await rejection(openClient().registerKey({ keyPair }));
    expect(stolen).toMatchObject({ code: "key_conflict", status: 409 });
    const nobody = new TrustRankClient(service);
    expect(await rejection(nobody.registerKey({ keyPair }))).toMatchObject({
      code: "invalid_argument",
    });
  });

  it("survives being kept as text: the same kid signs after a restart", async () => {
    const { jwk, keyPair } = await generateSigningKey();
    const agentId = "agent://acme/kept";
    const registered = await openClient({ agentId }).registerKey({ keyPair });
    const kept = await importSigningKey(JSON.parse(JSON.stringify(jwk)));
    const audience = await openClient().serviceId();
    const again = await createOutcomeSigner({ keyPair: kept, audience });
    expect(again.kid).toBe(registered.kid);
    const client = openClient({ agentId, signer: again });
    const receipt = await client.reportOutcome(outcome({ reporter: agentId }));
    expect(receipt.signature).toBe("reporter");
    await expect(importSigningKey({ ...jwk, crv: "P-256" } as never)).rejects.toThrow(/Ed25519/);
  });
});

describe("a signed outcome", () => {
  it("is receipted as the reporter's own; an unsigned one under its name is refused", async () => {
    const signed = await openClient({ signer }).reportOutcome(outcome());
    expect(signed).toMatchObject({ signature: "reporter", duplicate: false });
    expect(await codeOf(openClient())).toBe("signature_required");
    const keyless = outcome({ reporter: "agent://acme/keyless" });
    expect(await openClient().reportOutcome(keyless)).toMatchObject({ signature: "none" });
  });

  it("is refused with a code of its own: another service, old, ahead, tampered", async () => {
    const { keyPair } = await generateSigningKey();
    const stranger = await createOutcomeSigner({ keyPair, audience: "trustrank:elsewhere" });
    expect(await codeOf(openClient({ signer: stranger }))).toBe("signature_audience");
    const audience = await openClient().serviceId();
    const unknown = await createOutcomeSigner({ keyPair, audience });
    expect(await codeOf(openClient({ signer: unknown }))).toBe("signature_key_unknown");

    const own = await generateSigningKey();
    const agentId = "agent://acme/timely";
    const notBefore = Date.now() - 30 * DAY_MS;
    await openClient({ agentId }).registerKey({ keyPair: own.keyPair, notBefore });
    for (const shiftMs of [-8 * DAY_MS, 5 * 60_000]) {
      const now = () => Date.now() + shiftMs;
      const late = await createOutcomeSigner({ keyPair: own.keyPair, audience, now });
      const client = openClient({ agentId, signer: late });
      expect(await codeOf(client, outcome({ reporter: agentId }))).toBe("signature_stale");
    }

    const tampering: FetchLike = (url, init) =>
      fetch(url, { ...init, body: (init.body as string).replace('"outcome":1', '"outcome":0') });
    expect(await codeOf(openClient({ signer, fetch: tampering }))).toBe("signature_invalid");
    const mangling: OutcomeSigner = { kid: signer.kid, sign: async () => "not.a.signature" };
    expect(await codeOf(openClient({ signer: mangling }))).toBe("signature_malformed");
    const mismatched = outcome({ reporter: "agent://acme/somebody" });
    expect(await codeOf(openClient({ signer }), mismatched)).toBe("signature_key_mismatch");
  });
});

describe("many outcomes", () => {
  it("go under one signature, each with its own result", async () => {
    const sent: { url: string; signature: string | null }[] = [];
    const watching: FetchLike = (url, init) => {
      const signature = new Headers(init.headers).get("x-jws-signature");
      sent.push({ url: url.slice(service.baseUrl.length), signature });
      return fetch(url, init);
    };
    const client = openClient({ signer, fetch: watching });
    const results = await client.reportOutcomes([
      outcome(),
      outcome({ subject: REPORTER }),
      outcome({ stakes: -1 }),
      outcome({ reporter: "agent://acme/somebody" }),
      outcome({ outcome: 0 }),
    ]);
    expect(sent).toMatchObject([{ url: "/v1/outcomes/batch", signature: expect.any(String) }]);
    expect(results.map(({ receipt, error }) => receipt?.signature ?? error?.code)).toEqual([
      "reporter",
      "self_report",
      "invalid_request",
      "signature_key_mismatch",
      "reporter",
    ]);
    expect(results[2]?.error?.errors[0]?.pointer).toMatch(/stakes$/);
  });

  it("are split where the service would refuse, and all arrive, in order", async () => {
    const bodies: string[] = [];
    const watching: FetchLike = (url, init) => {
      bodies.push(init.body as string);
      return fetch(url, init);
    };
    const client = openClient({ signer, fetch: watching });
    // The first ones are long: bytes bound their batch, not their number.
    const action = `a.${"w".repeat(250)}`;
    const many = Array.from({ length: 2200 }, (_, at) => outcome(at < 900 ? { action } : {}));
    const results = await client.reportOutcomes(many);
    expect(results.filter(({ receipt }) => receipt?.signature === "reporter")).toHaveLength(2200);
    const batches = bodies.map((body) => JSON.parse(body) as OutcomeRequest[]);
    expect(batches.flat().map(({ id }) => id)).toEqual(many.map(({ id }) => id));
    expect(Math.max(...batches.map(({ length }) => length))).toBe(BATCH_ITEMS_MAX);
    expect(batches[0]!.length).toBeLessThan(900);
    for (const body of bodies) {
      expect(Buffer.byteLength(body)).toBeLessThanOrEqual(OUTCOME_BATCH_BYTES_MAX);
    }
    expect(await client.reportOutcomes([])).toEqual([]);
  });

  it("may be of several reporters, each signed by its own, carried by anybody", async () => {
    const agentId = "agent://acme/courier";
    const { keyPair } = await generateSigningKey();
    const theirs = await openClient({ agentId }).registerKey({ keyPair });
    const ours = await signOutcome(outcome(), signer);
    const given = [
      ours,
      await signOutcome(outcome({ reporter: agentId }), theirs),
      await signOutcome(outcome(), theirs),
      { ...ours, body: ours.body.replace('"outcome":1', '"outcome":0') },
    ];
    const codes = ["reporter", "reporter", "signature_key_mismatch", "signature_invalid"];
    for (const [carrier, isRepeat, signature, requestsDue] of [
      [{}, false, "signature_required", 1],
      // The whole must have no signature where its items have: theirs go apart.
      [{ signer }, true, "reporter", 2],
    ] as const) {
      let requests = 0;
      const counting: FetchLike = (url, init) => {
        requests += 1;
        return fetch(url, init);
      };
      const client = openClient({ ...carrier, fetch: counting });
      const results = await client.reportOutcomes([given[0]!, outcome(), ...given.slice(1)]);
      const found = results.map(({ receipt, error }) => receipt?.signature ?? error?.code);
      expect(found).toEqual([codes[0], signature, ...codes.slice(1)]);
      expect(results[0]?.receipt?.duplicate).toBe(isRepeat);
      expect(requests).toBe(requestsDue);
    }
  });

  it("weigh more where the owner of the other side signs the transaction too", async () => {
    for (const namespace of ["buyers", "sellers"]) {
      await service.call("PUT", `/v1/namespaces/${namespace}`, { tenant: namespace });
    }
    const [reporter, subject] = ["agent://buyers/one", "agent://sellers/one"];
    const [ours, theirs] = [await generateSigningKey(), await generateSigningKey()];
    const signs = await openClient({ agentId: reporter }).registerKey(ours);
    const seller = openClient({ agentId: subject });
    await seller.registerKey(theirs);
    const settled_at = Date.now();
    const settled = { subject, reporter, outcome: 1, stakes: 5, settled_at } as const;
    const attestation = await signTransaction(
      { ...settled, transaction_id: "order-1" },
      { keyPair: theirs.keyPair, audience: await seller.serviceId() },
    );
    const client = openClient({ agentId: reporter, signer: signs });
    const attested = { ...settled, grade: "counterparty", attestation } as const;
    expect(await client.reportOutcome(attested)).toMatchObject({ attested: "cosigned" });
    expect(await codeOf(client, { ...attested, stakes: 6 })).toBe("attestation_mismatch");
    const [again] = await client.reportOutcomes([attested]);
    expect(again?.receipt).toMatchObject({ duplicate: true });
  });

  it("stop at an outage, each saying so, and are not tried a thousand times", async () => {
    let attempts = 0;
    const down: FetchLike = () => {
      attempts += 1;
      return Promise.reject(new TypeError("fetch failed"));
    };
    const many = Array.from({ length: 2500 }, () => outcome());
    const circular = outcome() as OutcomeRequest & { self?: unknown };
    circular.self = circular;
    const results = await openClient({ fetch: down }).reportOutcomes([circular, ...many]);
    expect(attempts).toBe(1);
    expect(results[0]?.error?.code).toBe("invalid_argument");
    const codes = new Set(results.slice(1).map(({ error }) => error?.code));
    expect([results.length, [...codes]]).toEqual([2501, ["unreachable"]]);
  });

  it("count once when an answer is lost and the queue tries again", async () => {
    const bodies: string[] = [];
    let losses = 1;
    const losing: FetchLike = async (url, init) => {
      bodies.push(init.body as string);
      const response = await fetch(url, init);
      if (losses === 0) return response;
      losses -= 1;
      await response.text();
      throw new TypeError("fetch failed");
    };
    const hook = outcomeHook({ client: openClient({ signer, fetch: losing }), reporter: REPORTER });
    hook.queue.offer(outcome());
    const { id: _none, ...nameless } = outcome();
    hook.queue.offer(nameless);
    await hook.queue.flush(30_000);
    expect(hook.queue.counts).toEqual({ offered: 2, sent: 2, dropped: 0, retried: 2 });
    expect(bodies).toHaveLength(2);
    expect(bodies[1]).toBe(bodies[0]);
    const [first, second] = JSON.parse(bodies[0]!) as OutcomeRequest[];
    expect(second?.id).toMatch(/^[0-9a-f-]{36}$/);
    // The service knows both from the first attempt, alone or together with others.
    const again = await openClient({ signer }).reportOutcomes([outcome(), second!, first!]);
    expect(again.map(({ receipt }) => receipt?.duplicate)).toEqual([false, true, true]);
  });
});

it("what was signed is verified again by `doctor`, from the files alone", async () => {
  const results = await openClient({ signer }).reportOutcomes([outcome(), outcome()]);
  expect(results.every(({ receipt }) => receipt?.signature === "reporter")).toBe(true);
  const { stdout } = await runCommand(["doctor", "--data-dir", service.dataDir, "--json"]);
  const [, signatures] = /(\d+) signatures of reporters with them/.exec(stdout)!;
  expect(Number(signatures)).toBeGreaterThan(1);
});

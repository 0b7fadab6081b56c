// The policies that a journal gives: the last one of each tenant in force, all of them known by
// their versions.
import { expect, it } from "vitest";
import { Policies } from "../../src/bureau/policies.ts";
import { PolicyBook, readPolicyEvent } from "../../src/policy/policy-book.ts";
import { parsePolicy } from "../../src/contract/parse/policy.ts";
import { DEFAULT_POLICY } from "../../src/contract/policy.ts";
import type { PolicyEvent } from "../../src/contract/policy.ts";
import { principal } from "../bureau/_harness.ts";

const STRICT = parsePolicy({ levels: { L3: { allow_up_to: 0.01 } } });
const OPEN = parsePolicy({ levels: { L3: { shadow: true } } });

function policies(book = new PolicyBook()) {
  const journal: Buffer[] = [];
  const heard: PolicyEvent[] = [];
  let failure: Error | undefined;
  const log = {
    async appendPolicy(payload: Uint8Array) {
      await Promise.resolve();
      if (failure !== undefined) throw failure;
      expect(heard, "no thread hears of a policy that is not durable").toHaveLength(journal.length);
      return journal.push(Buffer.from(payload));
    },
  };
  const service = new Policies({
    log,
    book,
    onPolicy: (event) => heard.push(event),
    clock: () => Date.UTC(2026, 0, 31),
  });
  return { service, book, journal, heard, fail: (error: Error) => (failure = error) };
}

it("answers with the shipped policy until a tenant has set one", async () => {
  const { service, book } = policies();
  const shipped = service.show("acme");
  expect(shipped).toMatchObject({ tenant: "acme", policy: DEFAULT_POLICY, set_by: null });
  expect(shipped.version).toMatch(/^p-[0-9a-f]{16}$/);
  const set = await service.set("acme", STRICT, principal);
  expect(set).toMatchObject({
    tenant: "acme",
    policy: STRICT,
    set_by: principal.keyId,
    set_at: "2026-01-31T00:00:00.000Z",
  });
  expect(set.version).not.toBe(shipped.version);
  expect(service.show("acme")).toEqual(set);
  expect(service.show("other")).toEqual({ ...shipped, tenant: "other" });
  expect(book.of("acme").policy).toEqual(STRICT);
});

it("is the same again from the journal, and keeps every version", async () => {
  const { service, book, journal } = policies();
  const first = await service.set("acme", STRICT, principal);
  await Promise.all([
    service.set("acme", OPEN, principal),
    service.set("other", STRICT, principal),
    service.set("acme", DEFAULT_POLICY, principal),
  ]);
  const again = new PolicyBook(journal);
  for (const tenant of ["acme", "other", "third"]) {
    expect(again.of(tenant)).toEqual(book.of(tenant));
  }
  expect(again.of("acme").policy).toEqual(DEFAULT_POLICY);
  expect(again.find(first.version)).toEqual(STRICT);
  expect(again.find(new PolicyBook().of("any").version)).toEqual(DEFAULT_POLICY);
  expect(again.find("p-0000000000000000")).toBeUndefined();
});

it("changes nothing when the journal takes nothing, and goes on after", async () => {
  const { service, book, heard, journal, fail } = policies();
  await service.set("acme", STRICT, principal);
  const before = book.of("acme");
  fail(new Error("disk full"));
  await expect(service.set("acme", OPEN, principal)).rejects.toThrow("disk full");
  expect(book.of("acme")).toEqual(before);
  expect(heard).toEqual(journal.map(readPolicyEvent));
});

it("fills in the shipped rule where an old journal names none, under the recorded version", () => {
  const event = {
    event: "policy.set",
    tenant: "acme",
    policy: { levels: { L3: { allow_up_to: 0.01 } } },
    version: "p-00000000000000aa",
    set_by: "key-1",
    at_ms: 0,
  };
  const book = new PolicyBook([Buffer.from(JSON.stringify(event))]);
  expect(book.of("acme")).toMatchObject({ version: event.version, policy: STRICT });
});

it("still holds the policy that was shipped before, by the version in the log", () => {
  const before = new PolicyBook([]).find("p-ddb7b2b0075fe695");
  expect(before?.levels.L2.allow_handshake_up_to).toBe(0.15);
});

// The policies that a journal gives: the last one of each tenant in force, all of them known by
// their versions.
import { expect, it } from "vitest";
import { TenantPolicies } from "../../src/bureau/policies.ts";
import { PolicyBook, decodePolicyEvent } from "../../src/policy/policy-book.ts";
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
  const service = new TenantPolicies({
    log,
    book,
    onPolicy: (event) => heard.push(event),
    clock: () => Date.UTC(2026, 0, 31),
  });
  return { service, book, journal, heard, fail: (error: Error) => (failure = error) };
}

it("answers with the shipped policy until a tenant has set one", async () => {
  const { service, book } = policies();
  const shipped = service.describePolicy("acme");
  expect(shipped).toMatchObject({ tenant: "acme", policy: DEFAULT_POLICY, set_by: null });
  expect(shipped.version).toMatch(/^p-[0-9a-f]{16}$/);
  const set = await service.setPolicy("acme", STRICT, principal);
  expect(set).toMatchObject({
    tenant: "acme",
    policy: STRICT,
    set_by: principal.keyId,
    set_at: "2026-01-31T00:00:00.000Z",
  });
  expect(set.version).not.toBe(shipped.version);
  expect(service.describePolicy("acme")).toEqual(set);
  expect(service.describePolicy("other")).toEqual({ ...shipped, tenant: "other" });
  expect(book.findActivePolicy("acme").policy).toEqual(STRICT);
});

it("is the same again from the journal, and keeps every version", async () => {
  const { service, book, journal } = policies();
  const first = await service.setPolicy("acme", STRICT, principal);
  await Promise.all([
    service.setPolicy("acme", OPEN, principal),
    service.setPolicy("other", STRICT, principal),
    service.setPolicy("acme", DEFAULT_POLICY, principal),
  ]);
  const again = new PolicyBook(journal);
  for (const tenant of ["acme", "other", "third"]) {
    expect(again.findActivePolicy(tenant)).toEqual(book.findActivePolicy(tenant));
  }
  expect(again.findActivePolicy("acme").policy).toEqual(DEFAULT_POLICY);
  expect(again.findPolicyVersion(first.version)).toEqual(STRICT);
  expect(again.findPolicyVersion(new PolicyBook().findActivePolicy("any").version)).toEqual(
    DEFAULT_POLICY,
  );
  expect(again.findPolicyVersion("p-0000000000000000")).toBeUndefined();
});

it("changes nothing when the journal takes nothing, and goes on after", async () => {
  const { service, book, heard, journal, fail } = policies();
  await service.setPolicy("acme", STRICT, principal);
  const before = book.findActivePolicy("acme");
  fail(new Error("disk full"));
  await expect(service.setPolicy("acme", OPEN, principal)).rejects.toThrow("disk full");
  expect(book.findActivePolicy("acme")).toEqual(before);
  expect(heard).toEqual(journal.map(decodePolicyEvent));
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
  expect(book.findActivePolicy("acme")).toMatchObject({ version: event.version, policy: STRICT });
});

it("still holds the policy that was shipped before, by the version in the log", () => {
  const before = new PolicyBook([]).findPolicyVersion("p-ddb7b2b0075fe695");
  expect(before?.levels.L2.allow_handshake_up_to).toBe(0.15);
});

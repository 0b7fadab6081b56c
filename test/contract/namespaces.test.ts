// Owners of namespaces as a fold: who owns after which events, and whose acts on keys then hold.
import { expect, test } from "vitest";
import type { KeyEvent, KeyRight } from "../../src/contract/key-events.ts";
import {
  transferKeyAuthority,
  type NamespaceEvent,
  NamespaceOwners,
  type RegistryEvent,
} from "../../src/contract/namespaces.ts";

const change = (
  event: "granted" | "transferred" | "revoked",
  tenant: string,
  keepsKeys = false,
): NamespaceEvent => ({
  event: `namespace.${event}`,
  at_ms: 5,
  namespace: "acme",
  tenant,
  keeps_keys: keepsKeys,
  by: "admin-key",
});

function registered(tenant: string, by?: KeyRight): KeyEvent {
  const times = { at_ms: 1, not_before_ms: 1, expires_ms: null, others_retire_ms: 1 };
  const key = { agent: "agent://acme/a/b", kid: "k", x: "x", proof: "p" };
  const right = by === undefined ? {} : { by };
  return { event: "registered", tenant, ...times, ...key, ...right };
}

function ownerAfter(...events: RegistryEvent[]): unknown[] {
  const owners = new NamespaceOwners();
  for (const event of events) owners.apply(event);
  const owner = owners.find("acme");
  return [owner?.tenant, owner?.state];
}

test("the last change of the owner counts; keys claim only as they did before grants", () => {
  expect(ownerAfter()).toEqual([undefined, undefined]);
  expect(ownerAfter(registered("first"), registered("second"))).toEqual(["first", "inherited"]);
  expect(ownerAfter(registered("first", "admin"))).toEqual([undefined, undefined]);
  expect(ownerAfter(registered("first"), change("granted", "first"))).toEqual(["first", "granted"]);
  expect(ownerAfter(registered("first"), change("transferred", "owner"))).toEqual([
    "owner",
    "granted",
  ]);
  expect(ownerAfter(change("granted", "owner"), change("revoked", "owner"))).toEqual([
    undefined,
    undefined,
  ]);
});

test("a fold takes an event twice without harm", () => {
  const [once, twice] = [new NamespaceOwners(), new NamespaceOwners()];
  for (const owners of [once, twice]) owners.apply(registered("first"));
  for (const owners of [once, twice, twice]) owners.apply(change("transferred", "owner"));
  expect(twice.list()).toEqual(once.list());
});

test("a record that is no event of ours changes nothing", () => {
  const owners = new NamespaceOwners();
  owners.apply({ event: "registered", tenant: "t" } as unknown as RegistryEvent);
  owners.apply({ event: "note" } as unknown as RegistryEvent);
  expect(owners.list()).toEqual([]);
});

test("in whose right an old event was: the owner's, else an admin's, nobody else was let in", () => {
  const owners = new NamespaceOwners();
  owners.apply(registered("first"));
  const agent = "agent://acme/x";
  expect(owners.selectKeyAuthority(registered("first"), agent).right).toBe("owner");
  expect(owners.selectKeyAuthority(registered("operator"), agent).right).toBe("admin");
  expect(owners.selectKeyAuthority(registered("operator", "owner"), agent).right).toBe("owner");
});

test.each<[string, KeyRight, string, NamespaceEvent, string | undefined]>([
  ["the owner's, confirmed", "owner", "a", change("granted", "a"), "a"],
  ["the owner's, transferred", "owner", "a", change("transferred", "b"), undefined],
  ["the owner's, transferred with its keys", "owner", "a", change("transferred", "b", true), "b"],
  ["the owner's, taken back", "owner", "a", change("revoked", "a"), undefined],
  ["one left over, granted anew", "owner", "a", change("granted", "b"), undefined],
  ["an admin's, transferred", "admin", "operator", change("transferred", "b"), "operator"],
  ["an admin's, taken back", "admin", "operator", change("revoked", "a"), "operator"],
])("an act on a key: %s", (_what, right, tenant, event, left) => {
  expect(transferKeyAuthority({ right, tenant }, event)?.tenant).toBe(left);
});

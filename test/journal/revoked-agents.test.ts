// Agents without a good key, as a fold over the registry's events.
import { expect, test } from "vitest";
import { RevokedAgents } from "../../src/journal/revoked-agents.ts";

const registered = (agent: string, kid: string) => ({ event: "registered", agent, kid });
const revoked = (kid: string) => ({ event: "revoked", kid });

/** What each event changed. */
function changes(events: readonly object[]): (string | undefined)[] {
  const standings = new RevokedAgents();
  return events.map((event) => {
    const [changed] = standings.applyRegistryEvent(Buffer.from(JSON.stringify(event)));
    return changed && `${changed.agent} ${changed.isRevoked ? "revoked" : "stands"}`;
  });
}

test("the newest key decides, until another follows it", () => {
  expect(
    changes([
      registered("a", "a1"),
      registered("b", "b1"),
      revoked("a1"),
      revoked("a1"),
      registered("a", "a2"),
      revoked("b1"),
    ]),
  ).toEqual([undefined, undefined, "a revoked", undefined, "a stands", "b revoked"]);
});

test("a key that was rotated out says nothing about its agent", () => {
  expect(changes([registered("a", "a1"), registered("a", "a2"), revoked("a1")])).toEqual([
    undefined,
    undefined,
    undefined,
  ]);
});

test("an event of another kind or of an unknown key changes nothing", () => {
  expect(changes([revoked("x"), { event: "note" }, { event: "registered", kid: "y" }])).toEqual([
    undefined,
    undefined,
    undefined,
  ]);
});

const owned = { tenant: "squatter", by: "owner" };
const change = (event: string, tenant: string, keepsKeys = false) => ({
  event: `namespace.${event}`,
  namespace: "acme",
  tenant,
  keeps_keys: keepsKeys,
});
const AGENT = "agent://acme/a";

test("what a former owner revoked marks nobody in the namespace any more", () => {
  const taken = [
    { ...registered(AGENT, "k"), ...owned },
    { ...revoked("k"), ...owned },
  ];
  const marked = [undefined, `${AGENT} revoked`];
  expect(changes([...taken, change("transferred", "owner")])).toEqual([
    ...marked,
    `${AGENT} stands`,
  ]);
  expect(changes([...taken, change("transferred", "owner", true)])).toEqual([...marked, undefined]);
  expect(changes([...taken, change("revoked", "squatter")])).toEqual([
    ...marked,
    `${AGENT} stands`,
  ]);
  const elsewhere = { ...change("transferred", "owner"), namespace: "other" };
  expect(changes([...taken, elsewhere])).toEqual([...marked, undefined]);
});

test("what an admin revoked stays marked when the namespace changes hands", () => {
  const admins = { tenant: "operator", by: "admin" };
  expect(
    changes([
      { ...registered(AGENT, "k"), ...admins },
      { ...revoked("k"), ...admins },
      change("transferred", "owner"),
    ]),
  ).toEqual([undefined, `${AGENT} revoked`, undefined]);
});

test("keys of a former owner stand for no agent, whoever revokes them later", () => {
  expect(
    changes([
      { ...registered(AGENT, "k"), ...owned },
      change("transferred", "owner"),
      { ...revoked("k"), tenant: "operator", by: "admin" },
      { ...registered(AGENT, "k2"), tenant: "owner", by: "owner" },
      { ...revoked("k2"), tenant: "owner", by: "owner" },
    ]),
  ).toEqual([undefined, undefined, undefined, undefined, `${AGENT} revoked`]);
});

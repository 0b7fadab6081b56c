// Agents without a good key, as a fold over the registry's events.
import { expect, test } from "vitest";
import { RevokedAgents } from "../../src/journal/revoked-agents.ts";

const registered = (agent: string, kid: string) => ({ event: "registered", agent, kid });
const revoked = (kid: string) => ({ event: "revoked", kid });

/** What each event changed. */
function changes(events: readonly object[]): (string | undefined)[] {
  const standings = new RevokedAgents();
  return events.map((event) => {
    const changed = standings.apply(Buffer.from(JSON.stringify(event)));
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

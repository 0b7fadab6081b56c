// Options of the gates are checked when a gate is made: what is missing, misspelled or of the wrong type is
// named at once, and what is valid is not in the way.
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { mutualHandshakeApproval, trustRankApproval } from "../../../src/client/adapters/eve.ts";
import { mcpTokenVerifier } from "../../../src/client/adapters/mcp.ts";
import { TrustRankClient } from "../../../src/client/client.ts";
import { TrustGateway } from "../../../src/client/gateway/gateway.ts";
import { checkApproval, handshakeApproval } from "../../../src/client/gates/approval.ts";
import { trustGate } from "../../../src/client/gates/trust-gate.ts";
import { withTrustRank } from "../../../src/client/gates/with-trust-rank.ts";

const client = new TrustRankClient({ baseUrl: "http://127.0.0.1:1" });
const gateway = new TrustGateway({ client });
const callback = () => "agent://a/b";
const amount = () => 5;

/** Each gate, with its own valid options. */
const GATES: Record<string, [make: (options: never) => unknown, valid: Record<string, unknown>]> = {
  checkApproval: [checkApproval, { client, stakes: amount, toolLevel: "L3", reviewWaitMs: 0 }],
  trustRankApproval: [trustRankApproval, { agentId: callback, verification: callback }],
  handshakeApproval: [handshakeApproval, { stakes: amount, initiator: callback }],
  mutualHandshakeApproval: [
    mutualHandshakeApproval,
    { client, stakes: amount, counterparty: callback, onDecision: callback },
  ],
  withTrustRank: [
    (options) => withTrustRank(callback, options),
    { client, agentId: callback, stakes: amount, onEscalate: callback, verification: callback },
  ],
  trustGate: [
    (options) => trustGate(() => ({}), options),
    { gateway, level: "L0", action: "a.b", onAdmitted: callback, verification: callback },
  ],
  mcpTokenVerifier: [
    (options) => mcpTokenVerifier({ verifyAccessToken: async () => ({ clientId: "x" }) }, options),
    { client, level: "L1", action: callback, forbidden: (text: string) => new Error(text) },
  ],
};
const KNOWN: Record<string, readonly string[]> = {
  function: ["stakes", "agentId", "verification", "onDecision", "onEscalate", "onAdmitted"],
  level: ["toolLevel", "level"],
};

describe.each(Object.entries(GATES))("%s", (_, [make, valid]) => {
  const making = (more: object) => () => make({ ...valid, ...more } as never);

  it("takes its options, and undefined for those that may be left out", () => {
    expect(making({})).not.toThrow();
    expect(making({ client: undefined, verification: undefined })).not.toThrow();
  });

  it("names a misspelled option, and those that there are", () => {
    const names = fc.stringMatching(/^[a-z][A-Za-z]{2,12}$/).filter((name) => {
      const known = [...Object.values(KNOWN).flat(), "client", "gateway", "action", "reviewWaitMs"];
      return ![...known, "initiator", "counterparty", "forbidden"].includes(name);
    });
    fc.assert(
      fc.property(names, fc.anything(), (name, value) => {
        expect(making({ [name]: value })).toThrow(
          new RegExp(`^there is no option \`${name}\`; the options are \`[a-z]`),
        );
      }),
      { numRuns: 50 },
    );
    for (const former of ["onVerification", "verify"])
      expect(making({ [former]: "ask" })).toThrow(/`verification`/);
  });

  it("names what has the wrong type", () => {
    const wrong = fc.anything().filter((value) => value !== undefined);
    fc.assert(
      fc.property(wrong, (value) => {
        for (const name of KNOWN["function"]!.filter((each) => Object.hasOwn(valid, each))) {
          if (typeof value === "function") continue;
          expect(making({ [name]: value })).toThrow(
            new TypeError(`\`${name}\` must be a function`),
          );
        }
        for (const name of KNOWN["level"]!.filter((each) => Object.hasOwn(valid, each))) {
          if (["L0", "L1", "L2", "L3"].includes(value as string)) continue;
          expect(making({ [name]: value })).toThrow(`\`${name}\` must be one of L0, L1, L2, L3`);
        }
      }),
    );
    for (const other of [null, {}, "http://127.0.0.1", TrustRankClient])
      expect(making({ client: other })).toThrow("`client` must be a TrustRankClient");
  });
});

it("says which options are required", () => {
  expect(() => handshakeApproval({} as never)).toThrow("`stakes` must be a function");
  expect(() => withTrustRank(callback, { stakes: amount } as never)).toThrow("`agentId` must be");
  expect(() => withTrustRank(callback, { agentId: callback } as never)).toThrow("`stakes` must be");
  expect(() => withTrustRank(callback, undefined as never)).toThrow("must be an object");
  expect(() => withTrustRank("run" as never, {} as never)).toThrow("`run` must be a function");
  expect(() => trustGate({} as never)).toThrow("`inner` must be a function");
  expect(() => trustGate(() => ({}), { gateway: client as never })).toThrow("a TrustGateway");
  expect(() => checkApproval({ reviewWaitMs: -1 })).toThrow("`reviewWaitMs` must be milliseconds");
});

it("takes actions of the wire's form alone", () => {
  for (const action of ["a.b", "payments.card.refund", "A_1.-"])
    expect(() => trustGate(() => ({}), { action })).not.toThrow();
  for (const action of ["", "a", ".a", "a.", "a..b", "a b.c", "ä.b", `a.${"b".repeat(255)}`])
    expect(() => trustGate(() => ({}), { action })).toThrow("`action` must be");
});

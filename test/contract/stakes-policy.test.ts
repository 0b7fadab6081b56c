// Stakes of a policy: what follows from a person's cost and the tolerated loss, what L3 takes from L2, and each
// condition with a pointer to a member that the tenant wrote.
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { ServiceFault } from "../../src/contract/faults.ts";
import { parsePolicy } from "../../src/contract/parse/policy.ts";
import { DEFAULT_POLICY } from "../../src/contract/policy.ts";
import {
  CATCH_RATES_DEFAULT,
  computeBaseFriction,
  computeReviewFriction,
  computeVerifyFriction,
  listStakesFaults,
  resolveStakesTerms,
} from "../../src/contract/stakes-policy.ts";
import type { StakesPolicy } from "../../src/contract/stakes-policy.ts";
import { createActivePolicy } from "../../src/policy/active-policy.ts";
import { stakesPolicies } from "../policy/_connections.ts";

const faultsOf = (stakes: unknown): string[] => {
  try {
    parsePolicy({ stakes });
  } catch (thrown) {
    if (!(thrown instanceof ServiceFault)) throw thrown;
    return thrown.errors.map((error) => `${error.pointer} ${error.code}`);
  }
  return [];
};

describe("the terms of a tenant that sets nothing", () => {
  it("follow from a cost of 5 and a tolerated loss of 250", () => {
    const { L0, L1, L2, L3, connect } = resolveStakesTerms();
    const shared = { unit: 1, verificationCost: 0.5, reviewCost: 5, riskTolerance: 5000 };
    expect(L2).toMatchObject({ ...shared, assumed: 7, lossShare: 1, staleAfterDays: 180 });
    expect(L3).toMatchObject({ ...shared, assumed: 12, lossShare: 1, staleAfterDays: 180 });
    expect([L2.toleratedLoss, L3.toleratedLoss]).toEqual([0.025, 0.0125]);
    expect(computeVerifyFriction(L2, CATCH_RATES_DEFAULT)).toBeCloseTo(0.02, 12);
    expect(computeVerifyFriction(L3, CATCH_RATES_DEFAULT)).toBeCloseTo(0.01, 12);
    expect(computeBaseFriction(L3, CATCH_RATES_DEFAULT)).toBeCloseTo(0.02, 12);
    expect(computeReviewFriction(L2, CATCH_RATES_DEFAULT)).toBe(0.05);
    expect(connect).toEqual(L2);
    expect(L1).toBe(L0);
    expect(L0).toMatchObject({ assumed: 0, isSensitive: false, onVerification: "challenge" });
  });

  it("are those of a policy without stakes, whose version stays", () => {
    const { version } = createActivePolicy(DEFAULT_POLICY);
    expect(createActivePolicy(parsePolicy({ stakes: {} })).version).toBe(version);
    expect(createActivePolicy(parsePolicy({})).terms).toEqual(resolveStakesTerms());
    expect(createActivePolicy(parsePolicy({ stakes: { review_cost: 5 } })).version).not.toBe(
      version,
    );
  });
});

describe("terms", () => {
  it("scale with the cost of a person's look", () => {
    const { L2, L3 } = resolveStakesTerms({ review_cost: 40 });
    const scaled = { verificationCost: 4, reviewCost: 40, riskTolerance: 40_000 };
    expect(L2).toMatchObject({ ...scaled, assumed: 56 });
    expect(L3).toMatchObject({ ...scaled, assumed: 96 });
  });

  it("take the tolerated loss for every level, half of it for L3", () => {
    const { L1, L2, L3, connect } = resolveStakesTerms({ tolerated_loss_bps: 600 });
    const losses = [L1, L2, L3, connect].map((each) => each.toleratedLoss);
    expect(losses).toEqual([0.06, 0.06, 0.03, 0.06]);
    // A person's look costs good deals a quarter more than verifying does for what each catches.
    expect(computeReviewFriction(L2, CATCH_RATES_DEFAULT)).toBeCloseTo(1.25 * 0.06 * 0.95, 12);
  });

  it("of check and handshake are those of L2, at the policy's own tolerated loss", () => {
    const own = { tolerated_loss_bps: 100, loss_share: 0.6, assumed: 9, stale_after_days: 30 };
    const { L2, connect } = resolveStakesTerms({ levels: { L2: own } });
    expect(L2.toleratedLoss).toBe(0.01);
    expect(connect).toEqual({ ...L2, toleratedLoss: 0.025 });
    expect(connect).toMatchObject({ lossShare: 0.6, assumed: 9, staleAfterDays: 30 });
  });

  it("are amounts of the bureau's account: the tenant's times its unit", () => {
    fc.assert(
      fc.property(stakesPolicies, (policy) => {
        const { unit = 1, ...rest } = policy;
        const [own, plain] = [resolveStakesTerms(policy), resolveStakesTerms(rest)];
        for (const level of ["L2", "L3", "connect"] as const) {
          const { [level]: terms } = own;
          expect(terms.unit).toBe(unit);
          for (const name of [
            "verificationCost",
            "reviewCost",
            "riskTolerance",
            "assumed",
          ] as const) {
            expect(terms[name]).toBeCloseTo(plain[level][name] * unit, 9);
          }
          expect(terms.toleratedLoss).toBe(plain[level].toleratedLoss);
          expect(terms.lossShare).toBe(plain[level].lossShare);
        }
      }),
    );
  });
});

describe("what L3 does not name", () => {
  it.each([
    [{ levels: { L2: { tolerated_loss_bps: 60 } } }, { toleratedLoss: 0.006 }],
    [{ levels: { L2: { loss_share: 3 } } }, { lossShare: 3 }],
    [{ levels: { L2: { assumed: 80 } } }, { assumed: 80 }],
    [{ levels: { L2: { stale_after_days: 10 } } }, { staleAfterDays: 10 }],
    [{ assumed: 80 }, { assumed: 80 }],
    [
      { loss_share: 0.4, stale_after_days: 20 },
      { lossShare: 0.4, staleAfterDays: 20 },
    ],
    [{ levels: { L2: { assumed: 1 } } }, { assumed: 12 }],
    [{ levels: { L2: { on_verification: "allow_marked" } } }, { onVerification: "challenge" }],
  ] as const)("follows L2 where that is stricter: %j", (policy, expected) => {
    expect(faultsOf(policy)).toEqual([]);
    expect(resolveStakesTerms(policy).L3).toMatchObject(expected);
  });

  it("never makes a policy that is refused: only what was written can", () => {
    fc.assert(
      fc.property(stakesPolicies, (policy) => {
        const { L3: _, ...levels } = policy.levels ?? {};
        expect(listStakesFaults({ ...policy, levels }, "")).toEqual([]);
      }),
    );
  });
});

describe("a policy of stakes is refused", () => {
  it.each([
    [{ verification_cost: 4.3 }, "/stakes/verification_cost range"],
    [{ verification_cost: 6 }, "/stakes/verification_cost range"],
    [{ verification_cost: 1, review_cost: 1.1 }, "/stakes/verification_cost range"],
    [{ review_friction: 0.023 }, "/stakes/review_friction range"],
    [{ review_friction: 0.05, tolerated_loss_bps: 600 }, "/stakes/review_friction range"],
    [
      { levels: { L2: { tolerated_loss_bps: 251 } } },
      "/stakes/levels/L2/tolerated_loss_bps inverted",
    ],
    [
      { levels: { L3: { tolerated_loss_bps: 251 } } },
      "/stakes/levels/L3/tolerated_loss_bps inverted",
    ],
    [{ levels: { L3: { loss_share: 0.9 } } }, "/stakes/levels/L3/loss_share inverted"],
    [{ levels: { L3: { assumed: 6.9 } } }, "/stakes/levels/L3/assumed inverted"],
    [{ levels: { L3: { stale_after_days: 181 } } }, "/stakes/levels/L3/stale_after_days inverted"],
  ])("for %j, at a member that was written", (stakes, fault) => {
    expect(faultsOf(stakes)).toEqual([fault]);
  });

  it.each([
    [{ verification_cost: 4.2 }],
    [{ review_friction: 0.024 }],
    [{ levels: { L2: { tolerated_loss_bps: 250 }, L3: { tolerated_loss_bps: 250 } } }],
    [{ levels: { L3: { loss_share: 1, assumed: 7, stale_after_days: 180 } } }],
    [{ verification_cost: 0, tolerated_loss_bps: 0, review_friction: 0 }],
  ])("and not for %j, which is just within", (stakes) => {
    expect(faultsOf(stakes)).toEqual([]);
  });

  it.each([
    [{ unit: 0 }, "/stakes/unit range"],
    [{ review_cost: 0 }, "/stakes/review_cost range"],
    [{ review_cost: "5" }, "/stakes/review_cost type"],
    [{ verification_cost: -1 }, "/stakes/verification_cost range"],
    [{ risk_tolerance: 0 }, "/stakes/risk_tolerance range"],
    [{ review_friction: 1.1 }, "/stakes/review_friction range"],
    [{ tolerated_loss_bps: 10_001 }, "/stakes/tolerated_loss_bps range"],
    [{ loss_share: 0 }, "/stakes/loss_share range"],
    [{ assumed: 0 }, "/stakes/assumed range"],
    [{ stale_after_days: 0 }, "/stakes/stale_after_days range"],
    [{ on_verification: "allow" }, "/stakes/on_verification enum"],
    [{ reviewcost: 5 }, "/stakes/reviewcost unknown"],
    [{ levels: { L1: {} } }, "/stakes/levels/L1 unknown"],
    [{ levels: { L2: { review_cost: 5 } } }, "/stakes/levels/L2/review_cost unknown"],
    [{ levels: { L3: { assumed: -1 } } }, "/stakes/levels/L3/assumed range"],
    [[], "/stakes type"],
  ])("for %j by the shape of its members", (stakes, fault) => {
    expect(faultsOf(stakes)).toEqual([fault]);
  });

  it("at a member that was written, whatever was", () => {
    const bps = fc.integer({ min: 0, max: 10_000 });
    const amount = fc.double({ min: 0.01, max: 100, noNaN: true });
    const members = {
      tolerated_loss_bps: bps,
      loss_share: amount,
      assumed: amount,
      stale_after_days: amount,
    };
    const level = fc.record(members, { requiredKeys: [] });
    const policies: fc.Arbitrary<StakesPolicy> = fc.record(
      {
        ...members,
        review_cost: amount,
        verification_cost: amount,
        review_friction: fc.double({ min: 0, max: 1, noNaN: true }),
        levels: fc.record({ L2: level, L3: level }, { requiredKeys: [] }),
      },
      { requiredKeys: [] },
    );
    let refused = 0;
    fc.assert(
      fc.property(policies, (policy) => {
        for (const { pointer } of listStakesFaults(policy, "")) {
          refused += 1;
          expect(pointer).not.toBe("");
          const path = pointer.slice(1).split("/");
          const written = path.reduce<unknown>(
            (within, name) => (within as Record<string, unknown> | undefined)?.[name],
            policy,
          );
          expect(written, `${pointer} of ${JSON.stringify(policy)}`).toBeTypeOf("number");
        }
      }),
      { numRuns: 2000 },
    );
    expect(refused).toBeGreaterThan(500);
  });

  it("where catch rates of a new config would break it", () => {
    const policy = { verification_cost: 4.2 };
    expect(listStakesFaults(policy, "")).toEqual([]);
    const weaker = { verifyCatch: 0.5, humanCatch: 0.95 };
    expect(listStakesFaults(policy, "/stakes", weaker)).toMatchObject([
      { pointer: "/stakes/verification_cost", code: "range" },
    ]);
  });
});

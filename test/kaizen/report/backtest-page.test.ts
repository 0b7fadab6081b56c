// The page of a back-test: complete, self-contained, free of what is no number, safe with names from
// outside, and plain about what to doubt.
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { fillPolicyDefaults } from "../../../src/contract/complete-policy.ts";
import { DEFAULT_POLICY } from "../../../src/contract/policy.ts";
import type { Policy } from "../../../src/contract/policy.ts";
import type { Backtest } from "../../../src/contract/schemas/backtest.ts";
import { createSeededRandom } from "../../../src/kaizen/model/bootstrap.ts";
import { renderBacktestPage } from "../../../src/kaizen/report/backtest-page.ts";
import {
  describeAmountUnit,
  formatFalseAlarms,
  formatMoney,
  formatRatioAsPercent,
  listWarnings,
} from "../../../src/kaizen/report/backtest-tables.ts";
import { createActivePolicy } from "../../../src/policy/active-policy.ts";
import { PolicyBacktest } from "../../../src/policy/backtest.ts";
import { createRisk } from "../../policy/_connections.ts";

const { L2, L3 } = DEFAULT_POLICY.levels;
const LOOSE = fillPolicyDefaults({
  levels: { L2: { ...L2, allow_up_to: 0.2 }, L3: { ...L3, allow_up_to: 0.12, deny_from: 0.6 } },
});
const NAMES = ["agent://a/0", "agent://b/<script>alert(1)</script>"];

/** A calibrated market: as many fail as the probability says. */
function backtestOf(given: Policy | undefined, count: number, stakes = 10): Backtest {
  const live = createActivePolicy(DEFAULT_POLICY);
  const tried = given && createActivePolicy(given);
  const backtest = new PolicyBacktest({ live, given: tried, agentCount: 2 });
  const random = createSeededRandom(1);
  let bad = 0;
  for (let i = 0; i < count; i++) {
    const failureProbability = random.uniform() ** 2;
    const isBad = random.uniform() < failureProbability;
    if (isBad) bad += 1;
    const reading = {
      ...createRisk({
        failureProbability,
        failureOptimistic: failureProbability / 2,
        isThin: i % 7 === 0,
        isDenied: failureProbability > 0.8,
      }),
      scoreInternal: 597 - 900 * failureProbability,
      reasonIndexes: [],
      reasonCount: 0,
    };
    const agentId = NAMES[i % 2]!;
    const asked = { reading, agent: i % 2, agentId, nowMs: 0, isBad, stakes };
    for (const question of [0, 1, 2, 3]) backtest.add(question, asked);
  }
  const findings = {
    outcomes: count,
    good: count - bad,
    bad,
    unvouched: 5,
    counts_unvouched: false,
    without_stakes: 0,
    first_at: count === 0 ? null : "2026-01-01T00:00:00.000Z",
    last_at: count === 0 ? null : "2026-05-01T00:00:00.000Z",
    ...backtest.buildFindings(NAMES),
  };
  return {
    backtest_id: "b-20260601-000000000",
    state: "done",
    tenant: "<b>acme</b>",
    started_by: "key-1",
    started_at: "2026-06-01T00:00:00.000Z",
    position: 3,
    config_version: "c-0000000000000001",
    live_version: live.version,
    given_version: tried?.version ?? null,
    from: null,
    to: null,
    live,
    ...(tried && { given: tried }),
    findings,
  };
}

const text = (page: string) => page.replaceAll(/<style>[^]*?<\/style>|<[^>]+>/g, " ");

describe("a back-test's page", () => {
  const backtest = backtestOf(LOOSE, 2000);
  const page = renderBacktestPage(backtest);

  it("loads nothing, runs nothing, and says so itself", () => {
    expect(page).toMatch(
      /Content-Security-Policy" content="default-src 'none'; style-src 'sha256-/,
    );
    expect(page).not.toMatch(/<script|\son\w+=|(?:src|href)=|@import|url\(| style="/);
    expect(page).not.toContain("<b>acme");
    expect(text(page)).not.toMatch(/NaN|Infinity|undefined|null/);
  });

  it("has the figures of both policies, the rules that differ, and who is affected", () => {
    const told = text(page).replaceAll(/\s+/g, " ");
    for (const words of [
      "Rules that differ",
      "What held back",
      "What changes",
      "Agents most affected",
    ]) {
      expect(told).toContain(words);
    }
    expect(told).toContain("L3 deny_from fitted 0.6");
    const row = backtest.findings!.rows.find(
      (each) => each.policy === "given" && each.level === "L2" && each.question === "verify",
    )!;
    expect(told).toContain(
      `the given policy allows ${formatRatioAsPercent(row.good_allowed / row.good)}`,
    );
    expect(told).toContain(`stakes of ${formatMoney(row.stakes_lost)} units of account lost`);
    expect(told).toContain("agent://b/&lt;script&gt;");
    expect(page.match(/<svg /g)!.length).toBe(2 * 5 + 4);
    expect(page.match(/<svg [^>]*role="img" aria-label="[^"]+"/g)).toHaveLength(14);
  });

  it("marks the bound of each policy on its curve", () => {
    expect(page).toContain(">live 0.1<");
    expect(page).toContain(">given 0.2<");
    expect(page).toContain(">live and given 0.2<");
    const { curves, bounds } = backtest.findings!;
    const curve = curves.find(
      (each) => each.policy === "given" && each.level === "L2" && each.question === "verify",
    )!;
    const share = curve.good_allowed[bounds.indexOf(0.2)]! / backtest.findings!.good;
    expect(page).toContain(`given: ${formatRatioAsPercent(share)} of`);
  });

  it("stands with the live policy alone, without stakes, and without outcomes", () => {
    const alone = renderBacktestPage(backtestOf(undefined, 500, 0));
    expect(text(alone)).not.toMatch(/NaN|Infinity|undefined|null|given/);
    expect(alone).not.toContain("Money");
    const empty = text(renderBacktestPage(backtestOf(LOOSE, 0)));
    expect(empty).not.toMatch(/NaN|Infinity|undefined|null/);
    expect(empty).toContain("allows none of the good outcomes");
  });
});

describe("shares and amounts for a stranger", () => {
  it("tell a share from 0 and from 1, however small, and never repeat a digit that says nothing", () => {
    fc.assert(
      fc.property(fc.double({ min: 1e-7, max: 1 - 1e-7, noNaN: true }), (share) => {
        const told = formatRatioAsPercent(share);
        expect(told).not.toMatch(/^(0|0\.0+|100|100\.0+) %$/);
        expect(Number(told.replace(" %", "")) / 100).toBeCloseTo(share, 2);
      }),
      { seed: 11 },
    );
    expect([0, 1, 0.0727, 0.0002, 0.000_004].map(formatRatioAsPercent)).toEqual([
      "0 %",
      "100 %",
      "7.3 %",
      "0.02 %",
      "0.0004 %",
    ]);
  });

  it("say how many good outcomes were denied where none was, and at most what share", () => {
    const { findings } = backtestOf(undefined, 500);
    const none = { ...findings!.rows[0]!, good: 4147, false_alarm_rate: 0, false_alarm_low: 0 };
    const found = formatFalseAlarms({ ...none, false_alarm_high: 0.000_925 });
    expect(found).toEqual({ rate: "0 of 4,147", interval: "at most 0.09 %" });
  });

  it("name the unit of every amount: the service's, or the tenant's own", () => {
    const backtest = backtestOf(undefined, 500);
    const words = text(renderBacktestPage({ ...backtest, unit_of_account: "EUR" }));
    expect(words).toContain("stakes lost, EUR");
    expect(words).not.toContain("units of account");
    expect(describeAmountUnit(backtest)).toBe("units of account");
    const live = { version: "p-1", policy: { ...DEFAULT_POLICY, stakes: { unit: 0.01 } } };
    expect(describeAmountUnit({ live, unit_of_account: "EUR" })).toBe("the tenant's units");
  });
});

describe("warnings of a back-test", () => {
  const of = (changes: object, promotedAt?: string) => {
    const backtest = backtestOf(LOOSE, 1000);
    return listWarnings({ ...backtest.findings!, ...changes }, promotedAt).join("\n");
  };

  it("are none where all is well", () => {
    expect(of({})).toBe("");
  });

  it("speak of unvouched outcomes, of weights that learned from them, of stakes unknown", () => {
    expect(of({ counts_unvouched: true, unvouched: 1000 })).toContain("all of these outcomes");
    expect(of({ counts_unvouched: true, unvouched: 7 })).toContain("7 of these outcomes");
    expect(of({}, "2026-03-01T00:00:00.000Z")).toContain("promoted on 2026-03-01");
    expect(of({}, "2025-03-01T00:00:00.000Z")).not.toContain("promoted");
    expect(of({ without_stakes: 1000 })).toContain("no outcome has stakes");
    expect(of({ without_stakes: 9 })).toContain("9 of 1,000 outcomes have no stakes");
  });
});

// Money on the page of a back-test: the table has the findings' amounts, the curves mark the number in
// force, and policies that differ in their stakes alone are said to differ.
import { describe, expect, it } from "vitest";
import { DEFAULT_POLICY } from "../../../src/contract/policy.ts";
import type { Backtest } from "../../../src/contract/schemas/backtest.ts";
import { renderBacktestPage } from "../../../src/kaizen/report/backtest-page.ts";
import { formatMoney, formatRatioAsPercent } from "../../../src/kaizen/report/backtest-tables.ts";
import { createActivePolicy } from "../../../src/policy/active-policy.ts";
import type { ActivePolicy } from "../../../src/policy/active-policy.ts";
import { PolicyBacktest } from "../../../src/policy/backtest.ts";
import { createCase, createPolicyWithStakes, type Deal, DEALS } from "../../policy/_deals.ts";

const SHIPPED = createActivePolicy(DEFAULT_POLICY);

function backtestDeals(deals: readonly Deal[], given?: ActivePolicy): Backtest {
  const backtest = new PolicyBacktest({ live: SHIPPED, given, agentCount: 1 });
  for (const deal of deals) {
    for (const question of [0, 1, 2, 3]) backtest.add(question, createCase(deal));
  }
  const bad = deals.filter(({ isBad }) => isBad).length;
  return {
    backtest_id: "b-20260601-000000000",
    state: "done",
    tenant: "acme",
    started_by: "key-1",
    started_at: "2026-06-01T00:00:00.000Z",
    position: 3,
    config_version: "c-0000000000000001",
    live_version: SHIPPED.version,
    given_version: given?.version ?? null,
    from: null,
    to: null,
    live: SHIPPED,
    ...(given && { given }),
    findings: {
      outcomes: deals.length,
      good: deals.length - bad,
      bad,
      unvouched: 0,
      counts_unvouched: false,
      without_stakes: 0,
      first_at: null,
      last_at: null,
      ...backtest.buildFindings(["agent://a/0"]),
    },
  };
}

/** Words of the page; cells and lines are set apart. */
function readWords(page: string): string {
  return page.replaceAll(/<style>[^]*?<\/style>|<[^>]+>/g, " ").replaceAll(/\s+/g, " ");
}

describe("money on a back-test's page", () => {
  const given = createPolicyWithStakes({ review_cost: 8, tolerated_loss_bps: 175 });
  const backtest = backtestDeals(DEALS, given);
  const page = renderBacktestPage(backtest);
  const words = readWords(page);

  it("has every plan's costs for check, L2 and L3", () => {
    expect(words).toContain("Cost by your own numbers 8 deals had stakes");
    const plans = {
      live: "live policy",
      given: "given policy",
      always_verify: "verify every deal",
      connect_all: "connect every deal",
    };
    const { money } = backtest.findings!;
    expect(money).toHaveLength(12);
    for (const row of money) {
      const amounts = [row.lost, row.friction, row.review, row.cost].map(formatMoney);
      const cells = [plans[row.plan], ...amounts, formatRatioAsPercent(row.cost_share!)];
      expect(words).toContain(cells.join(" "));
    }
    for (const asked of ["check", "verify at L2", "verify at L3"]) {
      expect(page).toContain(`rowspan="4">${asked}</th>`);
    }
  });

  it("names the amounts that costs are counted by", () => {
    expect(words).toContain(
      "the given policy: a person's look at one deal costs 8 units of account and 5.0 % of a good deal's " +
        "volume, verifying one 0.8 units of account and 1.4 %",
    );
    const alone = readWords(renderBacktestPage(backtestDeals(DEALS)));
    expect(alone).toContain(
      "the live policy: a person's look at one deal costs 5 units of account and 5.0 %",
    );
    expect(alone).not.toContain("given");
    const inCents = createPolicyWithStakes({ unit: 0.01, review_cost: 500 });
    expect(readWords(renderBacktestPage(backtestDeals(DEALS, inCents)))).toContain(
      "Amounts are in the tenant's unit, worth 0.01 units of account each.",
    );
  });

  it("draws both shares over both numbers, and marks the number in force", () => {
    expect(words).not.toMatch(/NaN|Infinity|undefined|null/);
    expect(page).not.toMatch(/NaN|Infinity/);
    for (const member of ["tolerated_loss_bps", "risk_tolerance"]) {
      expect(page).toContain(`aria-label="Good deals connected by ${member}"`);
      expect(page).toContain(`aria-label="Cost, share of volume by ${member}"`);
    }
    expect(words.match(/in force 175/g)).toHaveLength(2);
    expect(words.match(/in force 8K/g)).toHaveLength(2);
    const row = backtest.findings!.money.find(
      ({ asked, plan }) => asked === "check" && plan === "given",
    )!;
    const share = formatRatioAsPercent(row.cost_share!);
    expect(page).toContain(`<title>Cost, share of volume at 175: ${share}</title>`);
  });

  it("says which amounts of the policies differ", () => {
    expect(words).not.toContain("Both policies have the same rules");
    expect(words).toContain("all stakes.review_cost not set 8");
    const own = createPolicyWithStakes({ levels: { L3: { assumed: 40 } } });
    expect(readWords(renderBacktestPage(backtestDeals(DEALS, own)))).toContain(
      "L3 stakes.assumed not set 40",
    );
  });

  it("is left out where no stakes were known", () => {
    const unknown = DEALS.map((deal) => ({ ...deal, stakes: 0 }));
    for (const deals of [unknown, []]) {
      const without = readWords(renderBacktestPage(backtestDeals(deals, given)));
      expect(without).not.toMatch(/Cost by|NaN|Infinity|undefined|null/);
    }
  });
});

// The page of a run: complete, self-contained, free of what is no number, safe with words from
// outside, and legible without telling colours apart.
import { describe, expect, it } from "vitest";
import type { RunRecord } from "../../../src/kaizen/kaizen.ts";
import { GATES, listGateIntervals } from "../../../src/kaizen/gates/register.ts";
import { renderRunReportPage } from "../../../src/kaizen/report/run-page.ts";
import { challengeBothScorecards } from "../../../src/kaizen/run.ts";
import { CONFIG, evidenceFrom } from "../_evidence.ts";

const TRUTH = { ...CONFIG.handshake, intercept: -1, mean: 0.5 };
const evidence = evidenceFrom(1, 9000, TRUTH);
const findings = challengeBothScorecards({ check: evidence, handshake: evidence }, CONFIG, {
  id: "k-20260601-030000000",
  nowMs: evidence.timesMs.at(-1)! + 1,
  holdoutDays: 120,
  isSignedOff: true,
  isPilot: false,
  testedToMs: { check: 0, handshake: 0 },
  gapMs: 0,
});
const run: RunRecord = {
  run_id: "k-20260601-030000000",
  state: "dry_run",
  started_at: "2026-06-01T03:00:00.000Z",
  started_by: "<b>somebody</b>",
  champion_version: "c-0000000000000001",
  reason: findings.reason,
  rows: 9000,
  position: 9000,
  findings,
};

describe("a report", () => {
  const page = renderRunReportPage(run);

  it("has every gate with its question, measures, plots and weights of both scorecards", () => {
    const ids = GATES.filter(({ evidence: data }) => data !== "attack scripts").map(({ id }) => id);
    for (const { gates } of findings.sides) expect(gates.map(({ id }) => id)).toEqual(ids);
    expect(ids.length).toBeGreaterThan(8);
    expect(page.match(/class="question"/g)).toHaveLength(
      findings.sides.reduce((sum, side) => sum + side.gates.length, 0),
    );
    expect(page.match(/aria-label="reliability diagram"/g)).toHaveLength(2);
    expect(page.match(/aria-label="scores of failures"/g)).toHaveLength(2);
    expect(page).toContain("calibration error (lower is better)");
    expect(page).toContain("a recent failure");
    expect(page).toMatch(/aria-label="AUC gained: [-.\d]+, 90 % between [-.\d]+ and [-.\d]+"/);
  });

  it("needs nothing from outside and shows nothing that is no number", () => {
    expect(page).not.toMatch(/<script|https?:|@import|url\(/);
    expect(page).not.toMatch(/NaN|Infinity|undefined/);
  });

  it("lets no word of the record become markup", () => {
    expect(page).toContain("&lt;b&gt;somebody&lt;/b&gt;");
    expect(page).not.toContain("<b>somebody");
  });

  it("tells old from new and passed from failed without colour", () => {
    expect(page).toMatch(/<rect [^>]*class="champion"/);
    expect(page).toMatch(/<circle [^>]*class="challenger"/);
    expect(page).toMatch(/&#10003; passed/);
  });

  it("has an error bar in every bin, and says what chance explains", () => {
    const { figures } = findings.sides[0]!;
    const bins = figures!.champion.reliability.length + figures!.challenger.reliability.length;
    expect(page.match(/class="error (champion|challenger)"/g)).toHaveLength(2 * bins);
    expect(page).toMatch(
      /within the bar in \d+ of 10 groups, what the tested ones foretold in \d+ of 10/,
    );
    expect(renderRunReportPage({ ...run, as_of: "2026-05-01T00:00:00.000Z" })).toContain(
      "nothing that came in later is in it",
    );
  });

  it("says how promoted weights have done since, and that they were taken back", () => {
    const back = renderRunReportPage({
      ...run,
      state: "promoted",
      rolled_back: { at: "2026-06-09T04:00:00.000Z", reason: "log-loss rose" },
      watch: {
        at: "2026-06-09T04:00:00.000Z",
        sides: [
          { side: "check", rollback_due: true, numbers: { rows: 9 }, sentence: "log-loss rose" },
        ],
      },
    });
    expect(back).toContain("<h1>Promoted, then taken back</h1>");
    expect(back).toContain("Since the promotion");
    expect(back).toContain("&#10007; taken back");
  });

  it("stands without findings", () => {
    const { findings: _, ...bare } = run;
    expect(renderRunReportPage({ ...bare, state: "failed" })).toContain("The run broke");
  });
});

it("draws no interval around what is no number", () => {
  const numbers = { auc_difference: 0.1, standard_error: Number.NaN };
  expect(
    listGateIntervals({ id: "G3", name: "ranking", passed: true, numbers, sentence: "" }),
  ).toEqual([]);
});

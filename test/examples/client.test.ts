// The programs of examples/client, each run as its head says against a real service with the sample
// history: they end well and print what they are there to show.
import { readdir, readFile } from "node:fs/promises";
import path from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { ROOT, type SampleService, startSampleService } from "./_sample-service.ts";

const FOLDER = "examples/client";

/** What each prints; patterns where a figure of the sample may move. */
const EXPECTED: Readonly<Record<string, readonly (string | RegExp)[]>> = {
  "verify.ts": [
    "CHALLENGE RISK_ABOVE_BOUND CRITICAL",
    /^FAILURE_HISTORY RECENT_FAILURE/,
    "agent://acme/ledger-sync ALLOW",
    "agent://quickcash/loan-broker QUARANTINE",
    "agent://new/comer CHALLENGE",
  ],
  "check.ts": [
    /^250 true connect \[\]$/,
    /^25000 true connect_with_verification \[ 'STAKES_NEED_VERIFICATION' \]$/,
    /^1000000 false escalate \[ 'STAKES_NEED_APPROVAL', 'STAKE_ABOVE_PROVEN' \]$/,
    "refuse true",
  ],
  "handshake.ts": [
    /^true connect/,
    /they to us: connect/,
    /we to them: connect/,
    "false refuse",
    "  they to us: refuse [ 'FAILURE_HISTORY' ]",
    /we to them: connect/,
  ],
  "function.ts": [
    "sent 25 to agent://test/connect",
    "sent 25 to agent://test/escalate",
    "TrustGateError",
    "TrustGateError",
  ],
  "route.ts": [
    "200",
    "403 REFUSE_RULE",
    "403 failed",
    "200 passed",
    "alert: unreachable",
    "L3 503 L3_closed",
    "L0 200 L0_open",
  ],
  "tool.ts": [
    "connect -> run",
    "connect_with_verification -> park",
    "escalate -> park",
    "refuse -> deny",
    "denied",
  ],
  "verification.ts": [
    "tool: user-approval",
    "tool: approved",
    "function: sent 25 to agent://test/verify",
    "route: 403",
    "route: { principalId: 'agent://test/verify' }",
  ],
  "report.ts": ["approved", "{ offered: 2, sent: 2, dropped: 0, retried: 0 } 0"],
  "signed.ts": ["reporter invalid_request"],
};

let service: SampleService;
beforeAll(async () => {
  service = await startSampleService();
});
afterAll(() => service.stop());

it("expects something of every program", async () => {
  expect((await readdir(path.join(ROOT, FOLDER))).toSorted()).toEqual(
    Object.keys(EXPECTED).toSorted(),
  );
});

it.each(Object.keys(EXPECTED))("%s says how it is run", async (name) => {
  const text = await readFile(path.join(ROOT, FOLDER, name), "utf8");
  expect(text).toContain(`\n// Run: npm run -s example ${FOLDER}/${name}\n`);
});

it.each(Object.entries(EXPECTED))("%s prints what it shows", async (name, expected) => {
  const lines = (await service.runFile(`${FOLDER}/${name}`)).split("\n");
  expect(lines).toHaveLength(expected.length);
  for (const [index, line] of expected.entries()) {
    if (typeof line === "string") expect(lines[index]).toBe(line);
    else expect(lines[index]).toMatch(line);
  }
});

it("joins the outcomes of report.ts to the decisions that let them through", async () => {
  const { rows } = await service.post<{ rows: unknown[][] }>("/v1/query", {
    sql: `SELECT o.outcome, o.agent_fault, o.stakes FROM outcomes o JOIN decisions d USING (request_id)
      WHERE o.subject = 'agent://hooli/search-agent' AND d.subject = o.subject
      ORDER BY o.outcome DESC`,
    format: "json",
  });
  expect(rows).toEqual([
    [1, true, 1],
    [0, false, 1],
  ]);
});

it("runs them by the script that their heads name", async () => {
  const printed = await service.run("npm", ["run", "-s", "example", `${FOLDER}/signed.ts`]);
  expect(printed).toBe("reporter invalid_request");
});

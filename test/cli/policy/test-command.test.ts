// `trustrank policy test` as a build server runs it: cases that pass and fail, reports, bad input, mutated
// policies that turn a suite red, and a candidate on logged decisions.
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, describe, expect, it } from "vitest";
import { readCaseFiles } from "../../../src/cli/policy/cases/case-file.ts";
import { formatJunit } from "../../../src/cli/policy/cases/case-report.ts";
import { CaseRunner } from "../../../src/cli/policy/cases/run-cases.ts";
import type { ReplayableLeg } from "../../../src/contract/schemas/decisions.ts";
import { VerdictComparison } from "../../../src/bureau/decisions/verdict-comparison.ts";
import { parsePolicy } from "../../../src/contract/parse/policy.ts";
import { createActivePolicy } from "../../../src/policy/active-policy.ts";
import { runCommand } from "../_process.ts";
import { openLoggedVerifies } from "./_logged-verifies.ts";

const EXAMPLES = fileURLToPath(new URL("../../../examples/policies", import.meta.url));
const folder = mkdtempSync(join(tmpdir(), "trustrank-policy-test-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

function write(name: string, text: string): string {
  writeFileSync(join(folder, name), text);
  return join(folder, name);
}

const run = (path: string, policy: object) => {
  const runner = new CaseRunner();
  const active = createActivePolicy(parsePolicy(policy));
  for (const file of readCaseFiles(path)) {
    for (const each of file.cases) runner.run(file.path, active, each);
  }
  return runner;
};
const countFailed = ({ results }: CaseRunner) =>
  results.filter(({ failures }) => failures.length > 0).length;

describe("the command", () => {
  it("passes the cases of the examples, and says where it is not covered", async () => {
    const ended = await runCommand(["policy", "test", EXAMPLES, "--json"]);
    expect(ended.code, ended.stdout + ended.stderr).toBe(0);
    const { passed, failed, coverage } = JSON.parse(ended.stdout) as {
      passed: number;
      failed: unknown[];
      coverage: { unreached: string[] }[];
    };
    expect({ passed, failed }).toEqual({ passed: 18, failed: [] });
    expect(coverage).toHaveLength(2);
    const unreached = coverage.flatMap((each) => each.unreached);
    expect(unreached).toContain("L3 BELOW_TENANT_MINIMUM");
    expect(unreached.filter((each) => each.startsWith("/actions/"))).toEqual([]);
  });

  it("ends with 1 where a case fails, and writes JUnit and the summary of a job", async () => {
    const path = write(
      "red.cases.yaml",
      "cases:\n  - name: <wrong> & | so\n    request: { tool_level: L3 }\n    expect: { verdict: ALLOW }\n",
    );
    const summary = write("summary.md", "before\n");
    const junit = join(folder, "junit.xml");
    const ended = await runCommand(["policy", "test", path, "--junit", junit], {
      GITHUB_STEP_SUMMARY: summary,
    });
    expect(ended.code).toBe(1);
    expect(ended.stdout).toContain("verdict: expected ALLOW, got CHALLENGE");
    expect(readFileSync(junit, "utf8")).toContain('tests="1" failures="1"');
    expect(readFileSync(junit, "utf8")).toContain("&lt;wrong&gt; &amp; | so");
    expect(readFileSync(summary, "utf8")).toMatch(/^before\n### Policy cases: 0 of 1 passed\n/);
    expect(readFileSync(summary, "utf8")).toContain("&lt;wrong> &amp; \\| so");
  });

  it.each([
    ["no such folder", "missing", undefined, "ENOENT"],
    ["a folder without cases", "empty", undefined, "has no file"],
    ["no YAML", "a.cases.yaml", "cases: [", "a.cases.yaml"],
    ["no verdict", "b.cases.yaml", "cases: [{ name: x, expect: {} }]", "/cases/0/expect/verdict"],
    [
      "two states",
      "c.cases.yaml",
      "cases: [{ name: x, agent: {}, history: [], expect: { verdict: ALLOW } }]",
      "more than one of",
    ],
    [
      "a policy that is none",
      "d.cases.yaml",
      "policy: { levels: { L4: {} } }\ncases: [{ name: x, expect: { verdict: ALLOW } }]",
      "/levels/L4",
    ],
    [
      "a policy that is not there",
      "e.cases.yaml",
      "policy: gone.json\ncases: [{ name: x, expect: { verdict: ALLOW } }]",
      "gone.json",
    ],
  ])("ends with 2 for %s", async (_what, name, text, message) => {
    if (name === "empty") mkdirSync(join(folder, name));
    if (text !== undefined) write(name, text);
    const ended = await runCommand(["policy", "test", join(folder, name)]);
    expect(ended.stderr).toContain(message);
    expect(ended.code).toBe(2);
  });
});

describe("five mutated policies", () => {
  const shipped = join(EXAMPLES, "shipped.cases.yaml");

  it("leave nothing red before they are mutated", () => {
    expect(countFailed(run(shipped, {}))).toBe(0);
  });

  it.each([
    ["allows a thin record", { levels: { L2: { thin: "allow" } }, allow_inverted: true }],
    ["allows almost no risk", { levels: { L3: { allow_up_to: 0.001 } } }],
    ["allows any risk", { levels: { L2: { allow_up_to: 1 } }, allow_inverted: true }],
    ["does not enforce L3", { levels: { L3: { enforce: false } }, allow_inverted: true }],
    ["raises every action", { actions: [{ match: "*", level: "L3" }] }],
  ])("turn the suite red: %s", (_what, policy) => {
    expect(countFailed(run(shipped, policy))).toBeGreaterThan(0);
  });
});

it("gives a case the same answer whatever ran before it", () => {
  const cases = readCaseFiles(EXAMPLES).flatMap(({ cases: each }) => each);
  const active = createActivePolicy(parsePolicy({}));
  const answer = (each: (typeof cases)[number], before: typeof cases) => {
    const runner = new CaseRunner();
    const wrong = { ...each, expect: { verdict: "BLOCK", log_reason: "UNKNOWN" } as never };
    for (const other of before) runner.run("before", active, other);
    runner.run("f", active, wrong);
    return runner.results.at(-1)!.failures;
  };
  for (const each of cases) expect(answer(each, cases)).toEqual(answer(each, []));
});

it("runs a thousand cases of a hundred states", () => {
  const cases = Array.from({ length: 1000 }, (_, index) => ({
    name: `case ${index}`,
    agent: { successes: 1 + Math.floor(index / 10), failures: Math.floor(index / 10) % 7 },
    request: { tool_level: `L${index % 4}` },
    expect: { verdict: "ALLOW" },
  }));
  const path = write("thousand.cases.json", JSON.stringify({ cases }));
  const runner = run(path, {});
  expect(runner.results).toHaveLength(1000);
  expect(countFailed(runner)).toBeLessThan(1000);
});

it("JUnit leaves out what XML cannot hold", () => {
  const xml = formatJunit([{ file: "f", name: 'a\u0001"b', failures: [] }]);
  expect(xml).toContain('name="a&quot;b"');
});

type Compared = ConstructorParameters<typeof VerdictComparison>;

function compare(services: Compared[0], legs: ReplayableLeg[], candidate: Compared[1]) {
  const comparison = new VerdictComparison(services, candidate);
  comparison.add(legs);
  return comparison.finish();
}

describe("a candidate on logged decisions", () => {
  it("changes what it would change, by level and reason, with the agents", async () => {
    const { services, legs } = await openLoggedVerifies();
    const same = compare(services, legs, createActivePolicy(parsePolicy({})));
    expect(same).toMatchObject({ judged: legs.length, skipped: 0, changed: 0, agents: [] });
    const policy = parsePolicy({ actions: [{ match: "order.*", level: "L3" }] });
    const raised = compare(services, legs, createActivePolicy(policy));
    expect(raised.changed).toBeGreaterThan(0);
    for (const { before, after } of raised.changes) {
      expect(before).toMatch(/^L[0-2] ALLOW /);
      expect(after).toMatch(/^L3 CHALLENGE /);
    }
    expect(raised.agents.map(({ agent }) => agent)).not.toContain("agent://shop/good");
    const total = raised.agents.reduce((sum, each) => sum + each.newly_withheld, 0);
    expect(total).toBe(raised.changed);
  });

  it("judges a logged decision as a case", async () => {
    const { services, legs } = await openLoggedVerifies();
    const find = (id: string) => legs.find((leg) => leg.request_id === id);
    const runner = new CaseRunner({ services, find });
    const [leg] = legs;
    const active = createActivePolicy(parsePolicy({}));
    const expected = { verdict: leg!.verdict!, log_reason: leg!.log_reason as never };
    const base = { name: "logged", asserts_properties: false, expect: expected };
    runner.run("f", active, { ...base, decision: leg!.request_id });
    runner.run("f", active, { ...base, decision: "gone" });
    expect(runner.results.map(({ failures }) => failures.length)).toEqual([0, 1]);
  });
});

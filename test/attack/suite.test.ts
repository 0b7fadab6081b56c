// The attack suite in its short form, on a real service for each HTTP server. Attacks that end their service
// or damage its files are not among them: test/crash/crash.test.ts plays the same harness.
import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { expect, test } from "vitest";

const run = promisify(execFile);

/** Attacks on the two services that the suite shares. */
const SHARED = [
  "smuggling",
  "malformed",
  "fuzz",
  "scopes",
  "other-tenants",
  "forged-signatures",
  "slow-connections",
  "overload",
  "soak",
  "unread-replies",
];

/** Thrice what it takes on two cores with nothing beside it. */
const RUN_MS_MAX = 600_000;

test("every attack on the shared services is held", { timeout: RUN_MS_MAX }, async () => {
  const flags = ["--disable-warning=ExperimentalWarning", "test/attack/suite.ts", "--short"];
  const parameters = [...flags, "--only", SHARED.join()];
  // It ends with 1 when something broke, and says what on its last line all the same.
  const { stdout } = await run(process.execPath, parameters).catch(
    (error: { stdout: string }) => error,
  );
  const report = JSON.parse(stdout) as {
    tried: number;
    broken: unknown[];
    figures: Record<string, Record<string, number>>;
  };
  expect(report.broken).toEqual([]);
  expect(report.tried).toBe(SHARED.length);
  // An attack that sent nothing would hold, too.
  const { smuggling, malformed, fuzz, scopes } = report.figures;
  expect(smuggling?.["uws_sends"]).toBeGreaterThan(100);
  expect(malformed?.["node_requests"]).toBeGreaterThan(1000);
  expect(fuzz?.["uws_answered_200"]).toBeGreaterThan(10);
  expect(scopes?.["node_asked"]).toBeGreaterThan(1000);
});

// `trustrank policy test [DIR]`: cases of a policy over the engine in this process, and what a candidate would
// change among logged decisions. Exit code 1: a case failed; 2: the input is wrong.
import { appendFileSync, writeFileSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { parsePolicy } from "../../contract/parse/policy.ts";
import { DEFAULT_POLICY } from "../../contract/policy.ts";
import type { ReplayableLeg } from "../../contract/schemas/decisions.ts";
import { createActivePolicy } from "../../policy/active-policy.ts";
import type { ActivePolicy } from "../../policy/active-policy.ts";
import { CommandFailure, EXIT_USAGE } from "../../service/failure.ts";
import { type DataAccess, runOnFilesOrServer } from "../data-access.ts";
import { readEnvironment } from "../environment.ts";
import { withCoreOnFiles } from "../file-core.ts";
import { withStoreOnFiles } from "../file-store.ts";
import { type OutputFlags, print, printJson, printNote } from "../output.ts";
import { convertCaseFault, readCaseFiles, type CaseFile } from "./cases/case-file.ts";
import { formatJobSummary, formatJunit } from "./cases/case-report.ts";
import { CaseRunner, type LoggedDecisions } from "./cases/run-cases.ts";
import { VerdictComparison } from "../../bureau/decisions/verdict-comparison.ts";
import type { PolicyDiff } from "../../contract/schemas/policy-diff.ts";
import { printDecisionDiff } from "./decision-diff.ts";
import { readPolicy } from "./policy-command.ts";

export interface PolicyTestFlags extends OutputFlags {
  /** Policy of all cases, in the place of those that their files name. */
  readonly policy?: string;
  readonly diff?: string;
  readonly last: number;
  readonly tenant?: string;
  readonly junit?: string;
}

/**
 * Runs the cases of a folder or a file, and compares a candidate with the log where one is named.
 * @throws CommandFailure with code 1 where a case failed, 2 for bad input.
 */
export async function testPolicy(
  access: DataAccess,
  path: string | undefined,
  flags: PolicyTestFlags,
): Promise<void> {
  if (path === undefined && flags.diff === undefined) {
    throw new CommandFailure("name a folder of cases, or a candidate with --diff", EXIT_USAGE);
  }
  const files = path === undefined ? [] : readCaseFiles(path);
  const given = flags.policy === undefined ? undefined : await readActivePolicy(flags.policy);
  const candidate = flags.diff === undefined ? undefined : await readActivePolicy(flags.diff);
  const suites: Suite[] = [];
  for (const file of files) suites.push({ file, active: given ?? (await readFilePolicy(file)) });
  const ids = files.flatMap(({ cases }) => cases.flatMap(({ decision }) => decision ?? []));
  if (candidate === undefined && ids.length === 0) return reportTest(runSuites(suites), flags);
  const { last, tenant } = flags;
  const { runner, diff } = await withLog(access, { ids, last, tenant }, (logged, legs) => ({
    runner: runSuites(suites, logged),
    diff: candidate && compareVerdicts(logged, legs, candidate),
  }));
  reportTest(runner, flags, diff);
}

interface Suite {
  readonly file: CaseFile;
  readonly active: ActivePolicy;
}

function runSuites(suites: readonly Suite[], logged?: LoggedDecisions): CaseRunner {
  const runner = new CaseRunner(logged);
  for (const { file, active } of suites) {
    for (const each of file.cases) runner.run(file.path, active, each);
  }
  return runner;
}

async function readActivePolicy(path: string): Promise<ActivePolicy> {
  try {
    return createActivePolicy(await readPolicy(path));
  } catch (error) {
    if (!(error instanceof CommandFailure)) throw error;
    throw new CommandFailure(error.message, EXIT_USAGE);
  }
}

function readFilePolicy({ path, policy }: CaseFile): ActivePolicy | Promise<ActivePolicy> {
  if (policy === undefined) return createActivePolicy(DEFAULT_POLICY);
  if (typeof policy === "string") return readActivePolicy(resolve(dirname(path), policy));
  try {
    return createActivePolicy(parsePolicy(policy));
  } catch (error) {
    throw convertCaseFault(`\`policy\` of ${path}`, error);
  }
}

interface LogQuery {
  /** Decisions that cases name. */
  readonly ids: readonly string[];
  /** Newest entries of the comparison. */
  readonly last: number;
  readonly tenant: string | undefined;
}

/** The decision log and the engine of a data directory that no server holds. */
function withLog<T>(
  access: DataAccess,
  { ids, last, tenant }: LogQuery,
  work: (logged: LoggedDecisions, legs: readonly ReplayableLeg[]) => T,
): Promise<T> {
  return runOnFilesOrServer(
    access,
    (dataDir) =>
      withStoreOnFiles(dataDir, false, async (store) => {
        const legs = await store.listDecisions({ tenant, kind: "verify", limit: last });
        const named = new Map<string, ReplayableLeg>();
        for (const requestId of ids) {
          const [leg] = await store.listDecisions({ tenant, requestId, limit: 1 });
          if (leg !== undefined) named.set(requestId, leg);
        }
        return withCoreOnFiles(dataDir, (services) =>
          work({ services, find: (requestId) => named.get(requestId) }, legs),
        );
      }),
    () => {
      const detail = "logged decisions are read from files: stop the server, or name a copy of its";
      throw new CommandFailure(`${detail} directory with --data-dir`, EXIT_USAGE);
    },
  );
}

function compareVerdicts(
  { services }: LoggedDecisions,
  legs: readonly ReplayableLeg[],
  candidate: ActivePolicy,
): PolicyDiff {
  const comparison = new VerdictComparison(services, candidate);
  comparison.add(legs);
  return comparison.finish();
}

function reportTest(runner: CaseRunner, flags: PolicyTestFlags, diff?: PolicyDiff): void {
  const { results } = runner;
  const failed = results.filter(({ failures }) => failures.length > 0);
  const coverage = runner.listUnreached();
  if (flags.junit !== undefined) writeFileSync(flags.junit, formatJunit(results));
  const summary = readEnvironment()["GITHUB_STEP_SUMMARY"] ?? "";
  if (summary !== "" && results.length > 0) appendFileSync(summary, formatJobSummary(results));
  if (flags.json === true) {
    printJson({ passed: results.length - failed.length, failed, coverage, diff });
  } else {
    for (const { file, name, failures } of failed) {
      print(`FAIL ${file}: ${name}`);
      for (const failure of failures) print(`  ${failure}`);
    }
    if (results.length > 0) print(`${results.length - failed.length} of ${results.length} passed`);
    for (const { version, unreached } of coverage) {
      if (unreached.length > 0) printNote(`${version}: no case reached ${unreached.join(", ")}`);
    }
    if (diff !== undefined) printDecisionDiff(diff);
  }
  if (failed.length > 0) throw new CommandFailure(`${failed.length} of ${results.length} failed`);
}

// Files of policy cases: YAML or JSON, an agent's state or a logged decision, a request, and the expected
// answer. Every fault names the file and the member.
import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { ServiceFault } from "../../../contract/faults.ts";
import { createParser } from "../../../contract/parse/parser.ts";
import { VerifyRequest } from "../../../contract/schemas/scores.ts";
import * as t from "../../../contract/schemas/schema.ts";
import { STAKES_MAX } from "../../../contract/limits.ts";
import { LOG_REASONS, TOOL_LEVELS, VERDICTS } from "../../../contract/vocabulary.ts";
import { LineCounter, parseDocument } from "../../../platform/yaml.ts";
import { CommandFailure, EXIT_USAGE } from "../../../service/failure.ts";

/** A file of cases is written by hand or by a script: some thousands of cases. */
const CASE_FILE_BYTES_MAX = 8 * 1024 * 1024;
const OUTCOMES_MAX = 10_000;
const DAYS_MAX = 3650;
const CASES_MAX = 20_000;

function wholeNumber(minimum: number, maximum: number) {
  return t.defineChecked<number>(
    { "~shown": { type: "integer", minimum, maximum } },
    (value) => Number.isInteger(value) && Number(value) >= minimum && Number(value) <= maximum,
    () => `range must be a whole number from ${minimum} to ${maximum}`,
  );
}

const stakes = t.withDefault(t.defineNumberBetween(0, STAKES_MAX), 20);
const days = t.defineNumberBetween(0, DAYS_MAX);

/** Counts spread evenly over the days before the request, failures among the successes. */
const agentCounts = t.defineObject(
  {
    successes: t.withDefault(wholeNumber(0, OUTCOMES_MAX), 0),
    failures: t.withDefault(wholeNumber(0, OUTCOMES_MAX), 0),
    days: t.withDefault(days, 90),
    stakes,
    reporters: t.withDefault(wholeNumber(1, OUTCOMES_MAX), 10),
  },
  t.STRICT,
);

/** Outcomes in their order; the oldest first. */
const recordedOutcome = t.defineObject(
  {
    outcome: wholeNumber(0, 1),
    days_ago: days,
    stakes,
    times: t.withDefault(wholeNumber(1, OUTCOMES_MAX), 1),
    reporter: t.makeOptional(t.agentId),
  },
  t.STRICT,
);

const { action, tool_level: level, stakes: named, resource } = VerifyRequest.properties;
const caseRequest = t.defineObject(
  {
    agent_id: t.makeOptional(t.agentId),
    action: t.withDefault(action, "test.action"),
    tool_level: t.makeOptional(level),
    stakes: named,
    resource,
    context: t.withDefault(t.anObject, {}),
  },
  t.STRICT,
);

const expectation = t.defineObject(
  {
    verdict: t.defineChoice(VERDICTS),
    log_reason: t.makeOptional(t.defineChoice(LOG_REASONS)),
    /** One of the reason codes. */
    reason: t.makeOptional(t.text),
    tool_level: t.makeOptional(t.defineChoice(TOOL_LEVELS)),
    /** Index of the entry of `actions`; null for none. */
    entry: t.makeOptional(t.integerOrNull),
  },
  t.STRICT,
);

const policyCase = t.defineObject(
  {
    name: t.text,
    agent: t.makeOptional(agentCounts),
    history: t.makeOptional(t.defineList(recordedOutcome, { maxItems: OUTCOMES_MAX })),
    decision: t.makeOptional(t.text),
    asserts_properties: t.withDefault(t.flag, false),
    request: t.makeOptional(caseRequest),
    expect: expectation,
  },
  t.STRICT,
);
export type PolicyCase = t.MessageOf<typeof policyCase>;

const caseFile = t.defineObject(
  {
    policy: t.makeOptional(t.defineSchema<unknown>({ type: ["string", "object"] })),
    cases: t.defineList(policyCase, { minItems: 1, maxItems: CASES_MAX, "~noun": "cases" }),
  },
  t.STRICT,
);

const parseCaseFile = createParser(caseFile);

/** One file of cases. */
export interface CaseFile {
  readonly path: string;
  /** A path from the file, or the policy itself; undefined for the shipped one. */
  readonly policy: unknown;
  readonly cases: readonly PolicyCase[];
}

/**
 * The files of cases in a folder and below it, or the one file, by name.
 * @throws CommandFailure with exit code 2 naming every member that is wrong; or that there is none.
 */
export function readCaseFiles(path: string): CaseFile[] {
  const files = listCaseFiles(path).map(readCaseFile);
  if (files.length > 0) return files;
  throw new CommandFailure(`${path} has no file \`*.cases.yaml\` or \`*.cases.json\``, EXIT_USAGE);
}

function listCaseFiles(path: string): string[] {
  try {
    if (!statSync(path).isDirectory()) return [path];
    return readdirSync(path, { recursive: true, encoding: "utf8" })
      .filter((name) => /\.cases\.(?:ya?ml|json)$/.test(name))
      .toSorted()
      .map((name) => join(path, name));
  } catch (error) {
    throw new CommandFailure(`${path}: ${(error as Error).message}`, EXIT_USAGE);
  }
}

function readCaseFile(path: string): CaseFile {
  const { size } = statSync(path);
  if (size > CASE_FILE_BYTES_MAX) {
    throw new CommandFailure(`${path} has more than ${CASE_FILE_BYTES_MAX} bytes`, EXIT_USAGE);
  }
  const lines = new LineCounter();
  const document = parseDocument(readFileSync(path, "utf8"), { lineCounter: lines });
  const [fault] = document.errors;
  if (fault !== undefined) throw new CommandFailure(`${path}: ${fault.message}`, EXIT_USAGE);
  const value: unknown = document.toJS();
  try {
    const { policy, cases } = parseCaseFile(value);
    for (const [index, each] of cases.entries()) assertOneState(path, each, index);
    return { path, policy, cases };
  } catch (error) {
    throw convertCaseFault(path, error);
  }
}

/** A logged decision is judged as it is: there is no other state, no other request, and no other reason. */
function assertOneState(path: string, given: PolicyCase, index: number): void {
  const { agent, history, decision, request, asserts_properties: asserts, expect } = given;
  const states = [agent, history, decision].filter((each) => each !== undefined).length;
  const refuse = (detail: string) => {
    throw new CommandFailure(`${path}: /cases/${index} ${detail}`, EXIT_USAGE);
  };
  if (states > 1) refuse("has more than one of `agent`, `history` and `decision`");
  if (decision === undefined) return;
  if (request !== undefined || asserts || expect.reason !== undefined) {
    refuse("has `decision` beside `request`, `asserts_properties` or `expect.reason`");
  }
}

/** A fault of parsing as a failure of the command, bad input by its exit code. */
export function convertCaseFault(path: string, error: unknown): unknown {
  if (!(error instanceof ServiceFault) || error.errors.length === 0) return error;
  const lines = error.errors.map(({ pointer, detail }) => `  ${pointer || "/"}: ${detail}`);
  return new CommandFailure(`${path} is wrong:\n${lines.join("\n")}`, EXIT_USAGE);
}

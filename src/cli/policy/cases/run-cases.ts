// Runs policy cases, compares what was decided with what was expected, and counts the rules and the entries of
// `actions` that no case reached.
import type { CallContext } from "../../../bureau/bureau.ts";
import { judgeLoggedVerify } from "../../../bureau/decisions/policy-verdict.ts";
import type { ReplayServices } from "../../../bureau/decisions/replay.ts";
import { ServiceFault } from "../../../contract/faults.ts";
import { MINIMUM_SCORES_DEFAULT } from "../../../contract/policy.ts";
import type { ReplayableLeg } from "../../../contract/schemas/decisions.ts";
import type { VerifyResponse } from "../../../contract/schemas/scores.ts";
import { TOOL_LEVELS } from "../../../contract/vocabulary.ts";
import type { ToolLevel } from "../../../contract/vocabulary.ts";
import type { ActivePolicy } from "../../../policy/active-policy.ts";
import { createRuleInputs } from "../../../policy/rule-inputs.ts";
import { traceRules } from "../../../policy/rules.ts";
import { CaseEngines } from "./case-engine.ts";
import type { PolicyCase } from "./case-file.ts";

/** What a case was answered. */
interface CaseAnswer {
  readonly verdict: string;
  readonly log_reason: string;
  readonly reasons: readonly string[] | undefined;
  readonly tool_level: ToolLevel;
  readonly entry: number | null;
}

export interface CaseResult {
  readonly file: string;
  readonly name: string;
  /** What differs, one sentence each; empty where the case passed. */
  readonly failures: readonly string[];
}

/** Reads a logged decision, and judges it. Undefined: no data directory was asked for. */
export interface LoggedDecisions {
  readonly services: ReplayServices;
  readonly find: (requestId: string) => ReplayableLeg | undefined;
}

const PRINCIPAL: CallContext["principal"] = {
  keyId: "cases",
  tenant: "cases",
  scopes: new Set(),
  minimumScores: MINIMUM_SCORES_DEFAULT,
  isShadow: false,
  isFirstParty: false,
  voice: 0,
};

export class CaseRunner {
  readonly #engines = new CaseEngines();
  readonly #logged: LoggedDecisions | undefined;
  readonly #reached = new Map<string, { active: ActivePolicy; found: Set<string> }>();
  readonly results: CaseResult[] = [];

  constructor(logged?: LoggedDecisions) {
    this.#logged = logged;
  }

  run(file: string, active: ActivePolicy, given: PolicyCase): void {
    const { name } = given;
    try {
      const answer =
        given.decision === undefined
          ? this.#verify(active, given)
          : this.#judgeLogged(active, given.decision);
      this.#markReached(active, answer);
      this.results.push({ file, name, failures: compareAnswer(given, answer) });
    } catch (error) {
      if (!(error instanceof ServiceFault)) throw error;
      const at = error.errors.map(({ pointer, detail }) => ` ${pointer} ${detail}`).join(",");
      this.results.push({ file, name, failures: [`${error.code}: ${error.detail}${at}`] });
    }
  }

  #verify(active: ActivePolicy, given: PolicyCase): CaseAnswer {
    const { request = { action: "test.action", context: {} } } = given;
    const { action, tool_level: named, stakes, resource, context } = request;
    const policies = { findActivePolicy: () => active, findPolicyVersion: () => active.policy };
    let decided = { tool_level: "L3" as ToolLevel, entry: null as number | null };
    const { bureau, agentId } = this.#engines.openBureau(given, policies, (entry) => {
      const { toolLevelIndex, actionEntry } = entry;
      decided = {
        tool_level: TOOL_LEVELS[toolLevelIndex]!,
        entry: actionEntry < 0 ? null : actionEntry,
      };
    });
    const asked = {
      agent_id: agentId,
      action,
      tool_level: named ?? "L3",
      ...(stakes === undefined ? {} : { stakes }),
      context: {},
    } as const;
    const principal = { ...PRINCIPAL, assertsProperties: given.asserts_properties };
    const facts = { resource, context };
    const call = { requestId: "case", principal, facts, isLevelNamed: named !== undefined };
    const response = bureau.verify(asked, call) as VerifyResponse;
    const { verdict, log_reason } = response.policy_action;
    return { verdict, log_reason, reasons: response.reason_codes, ...decided };
  }

  #judgeLogged(active: ActivePolicy, requestId: string): CaseAnswer {
    const leg = this.#logged?.find(requestId);
    if (this.#logged === undefined || leg === undefined) {
      throw new ServiceFault("not_found", `no decision \`${requestId}\` is in the log`);
    }
    const { verdict, logReason, toolLevel, entry } = judgeLoggedVerify(
      this.#logged.services,
      leg,
      active,
    );
    const found = entry < 0 ? null : entry;
    return {
      verdict,
      log_reason: logReason,
      reasons: undefined,
      tool_level: toolLevel,
      entry: found,
    };
  }

  #markReached(active: ActivePolicy, { tool_level: level, log_reason: rule, entry }: CaseAnswer) {
    const reached = this.#reached.get(active.version) ?? { active, found: new Set<string>() };
    this.#reached.set(active.version, reached);
    reached.found.add(`${level} ${rule}`);
    if (entry !== null) reached.found.add(`/actions/${entry}`);
  }

  /** Rules by level, and entries, that no case reached, by policy version. */
  listUnreached(): { version: string; reached: number; unreached: string[] }[] {
    return [...this.#reached.values()].map(({ active, found }) => {
      const unreached = listReachable(active).filter((each) => !found.has(each));
      return { version: active.version, reached: found.size, unreached };
    });
  }
}

function listReachable({ policy }: ActivePolicy): string[] {
  const rules = TOOL_LEVELS.flatMap((level) =>
    traceRules(createRuleInputs(level, policy.levels[level])).map(({ rule }) => `${level} ${rule}`),
  );
  const entries = (policy.actions ?? []).map((_, index) => `/actions/${index}`);
  return [...new Set([...rules, ...entries])];
}

function compareAnswer({ expect: expected }: PolicyCase, answer: CaseAnswer): string[] {
  const failures: string[] = [];
  for (const member of ["verdict", "log_reason", "tool_level", "entry"] as const) {
    const wanted = expected[member];
    if (wanted === undefined || wanted === answer[member]) continue;
    failures.push(`${member}: expected ${wanted}, got ${answer[member]}`);
  }
  const { reason } = expected;
  if (reason !== undefined && !(answer.reasons ?? [reason]).includes(reason)) {
    failures.push(`reason: expected ${reason}, got ${answer.reasons!.join(", ") || "none"}`);
  }
  return failures;
}

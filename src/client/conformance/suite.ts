// Suite of the conformance kit: the fail policy of SPEC §8.1 as a table of faults and tool levels,
// for any gateway. It judges the effects on the tool and on the end client, not the gateway's
// design.
import { TOOL_LEVELS, type ToolLevel } from "../../contract/vocabulary.ts";
import { failPolicy } from "../gateway/fail-policy.ts";
import type { Fault } from "./fault-proxy.ts";

/** Observed result of one request through the gateway under test. */
export interface Observed {
  readonly status: number;
  readonly retryAfter: string | null;
  /** Header `X-Trust-Degraded` of the answer. */
  readonly degraded: string | null;
  /** Whether the request got to the tool behind the gateway. */
  readonly reachedTool: boolean;
}

/** A gateway under test, with a fault proxy in front of its service. */
export interface Subject {
  /** Sends a request of an agent with a good score, for a tool of that level. */
  request(toolLevel: ToolLevel): Promise<Observed>;
  /** Injects the fault into the requests to come. */
  setFault(fault: Fault): Promise<void>;
  /** Drops cached verdicts and past outages; absent where there are none. */
  reset?(): void;
  /** Alerts raised since the last `reset`; absent where alerts go to a log only. */
  alertCount?(): number;
}

export interface ConformanceOptions {
  /** The gateway's time limit, milliseconds. */
  readonly budgetMs?: number;
  /** How far from the limit the two delays are, milliseconds: sockets and schedulers take time. */
  readonly marginMs?: number;
}

export interface ConformanceRow {
  readonly fault: string;
  readonly toolLevel: ToolLevel;
  readonly observed: Observed;
  /** Deviations, one phrase each; empty when the row conforms. */
  readonly faults: readonly string[];
}

const BUDGET_MS = 100;
const MARGIN_MS = 60;

/** Runs every fault at every tool level, in turn; twice where alerts are counted: none may repeat. */
export async function runConformance(
  subject: Subject,
  options: ConformanceOptions = {},
): Promise<ConformanceRow[]> {
  const { budgetMs = BUDGET_MS, marginMs = MARGIN_MS } = options;
  const rows: ConformanceRow[] = [];
  const put = async (name: string, fault: Fault, hasVerdict: boolean) => {
    for (const toolLevel of TOOL_LEVELS) {
      subject.reset?.();
      await subject.setFault(fault);
      const observed = await subject.request(toolLevel);
      if (!hasVerdict && subject.alertCount !== undefined) await subject.request(toolLevel);
      const alerts = subject.alertCount?.();
      const faults = hasVerdict
        ? listVerdictDeviations(observed, alerts)
        : listFaultDeviations(toolLevel, observed, alerts);
      rows.push({ fault: name, toolLevel, observed, faults });
    }
  };
  await put("none", { kind: "none" }, true);
  await put("within the limit", { kind: "delay", ms: budgetMs - marginMs }, true);
  await put("beyond the limit", { kind: "delay", ms: budgetMs + marginMs }, false);
  for (const [name, fault] of FAULTS) await put(name, fault, false);
  await subject.setFault({ kind: "none" });
  return rows;
}

/** Faults without a verdict; all but silence show themselves at once. */
export const FAULTS: readonly (readonly [string, Fault])[] = [
  ["silence", { kind: "silence" }],
  ["connection refused", { kind: "refused" }],
  ["connection reset", { kind: "reset" }],
  ["half a head", { kind: "half_head" }],
  ["half a body", { kind: "half_body" }],
  ["status 500", { kind: "status", status: 500 }],
  ["status 503", { kind: "status", status: 503 }],
  ["status 401", { kind: "status", status: 401 }],
  ["a 403 that is no verdict", { kind: "status", status: 403 }],
  ["garbage JSON", { kind: "garbage" }],
  ["wrong types", { kind: "wrong_type" }],
  ["not HTTP", { kind: "not_http" }],
];

function listVerdictDeviations(observed: Observed, alerts: number | undefined): string[] {
  const wrong: string[] = [];
  if (!observed.reachedTool) wrong.push("did not reach the tool");
  if (observed.status >= 400) wrong.push(`status ${observed.status}`);
  if (observed.degraded !== null) wrong.push(`marked \`${observed.degraded}\` with a verdict`);
  if (alerts !== undefined && alerts !== 0) wrong.push(`${alerts} alerts`);
  return wrong;
}

function listFaultDeviations(
  toolLevel: ToolLevel,
  observed: Observed,
  alerts: number | undefined,
): string[] {
  const { action, name } = failPolicy(toolLevel);
  const isOpen = action === "ALLOW";
  const wrong: string[] = [];
  if (observed.reachedTool !== isOpen) {
    wrong.push(isOpen ? "did not reach the tool" : "reached the tool");
  }
  if (isOpen ? observed.status >= 400 : observed.status !== 503) {
    wrong.push(`status ${observed.status}`);
  }
  if (!isOpen && !/^[1-9][0-9]*$/.test(observed.retryAfter ?? "")) wrong.push("no `Retry-After`");
  if (observed.degraded !== name) wrong.push(`marked \`${observed.degraded ?? ""}\``);
  const alertsDue = isOpen ? 0 : 1;
  if (alerts !== undefined && alerts !== alertsDue) wrong.push(`${alerts} alerts`);
  return wrong;
}

/** The rows as text, one line each, for a report. */
export function conformanceTable(rows: readonly ConformanceRow[]): string {
  const lines = rows.map(({ fault, toolLevel, observed, faults }) => {
    const reached = observed.reachedTool ? "reached" : "stopped";
    const result = faults.length === 0 ? "conforms" : `FAILS: ${faults.join(", ")}`;
    const mark = observed.degraded ?? "-";
    const cells = [fault.padEnd(26), toolLevel, String(observed.status), reached, mark.padEnd(10)];
    return `${cells.join("  ")}  ${result}`;
  });
  return lines.join("\n");
}

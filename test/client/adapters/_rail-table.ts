// The contract of the rails: what can come of a tool call, and what is reported of it. The adapters' tests play
// every row inside the real frameworks; docs/reference/rail.md is made from it.
import type { SkippedCounts } from "../../../src/client/reporting/skipped-calls.ts";
import type { Behaviour } from "../_bank.ts";

/** What is reported of a call. */
export interface RailResult {
  /** Values of the outcomes, in order. */
  readonly outcomes: readonly number[];
  /** Of a reported failure. */
  readonly fault?: "the agent's" | "not the agent's";
  /** How a call is counted that is not reported; undefined: not at all. */
  readonly counted?: keyof SkippedCounts;
}

/** One row of the table, and how it is played. */
export interface RailRow extends RailResult {
  /** What happened, for the page. */
  readonly what: string;
  /** The agent that the policy asks about: what its verdict is. */
  readonly counterparty: "connect" | "escalate" | "refuse";
  readonly tool: Behaviour;
  /** How often the tool runs; 1 by default. */
  readonly runs?: number;
  /** What the caller's `isAgentFault` returns, where it has one. */
  readonly isAgentFault?: boolean;
}

const REFUSED = { runs: 0, outcomes: [], counted: "refused" } as const;
const UNFINISHED = { outcomes: [], counted: "unfinished" } as const;
const connect = { counterparty: "connect" } as const;

const ROWS = {
  returned: {
    ...connect,
    what: "returned",
    tool: "returns",
    outcomes: [1],
  },
  streamed: {
    ...connect,
    what: "returned as a stream",
    tool: "returns",
    outcomes: [1],
  },
  errorValue: {
    ...connect,
    what: 'returned an error value (`isError: true`, `status: "error"`, a `Command` with such a message)',
    tool: "error value",
    outcomes: [0],
    fault: "the agent's",
  },
  excusedErrorValue: {
    ...connect,
    what: "returned an error value, and `isAgentFault` is false",
    tool: "error value",
    isAgentFault: false,
    outcomes: [0],
    fault: "not the agent's",
  },
  threw: {
    ...connect,
    what: "threw",
    tool: "throws",
    outcomes: [],
    counted: "faultUnknown",
  },
  threwAgentFault: {
    ...connect,
    what: "threw an `AgentFaultError`, or an error with `agentFault: true`",
    tool: "throws the agent's fault",
    outcomes: [0],
    fault: "the agent's",
  },
  threwOtherFault: {
    ...connect,
    what: "threw an error with `agentFault: false`",
    tool: "throws another's fault",
    outcomes: [0],
    fault: "not the agent's",
  },
  blamedThrow: {
    ...connect,
    what: "threw, and `isAgentFault` is true",
    tool: "throws",
    isAgentFault: true,
    outcomes: [0],
    fault: "the agent's",
  },
  swallowedThrow: {
    ...connect,
    what: "threw, and the framework or the server made an error value of it before the rail saw it",
    tool: "throws",
    outcomes: [0],
    fault: "the agent's",
  },
  retried: {
    ...connect,
    what: "threw, was called again and returned",
    tool: "flaky",
    runs: 2,
    outcomes: [1],
    counted: "faultUnknown",
  },
  invalidOutput: {
    ...connect,
    what: "returned what does not fit the tool's output schema",
    tool: "invalid output",
    outcomes: [],
    counted: "faultUnknown",
  },
  refused: {
    ...REFUSED,
    what: "refused by the verdict",
    counterparty: "refuse",
    tool: "returns",
  },
  parked: {
    what: "parked, no answer yet",
    counterparty: "escalate",
    tool: "returns",
    runs: 0,
    outcomes: [],
  },
  approved: {
    what: "parked, approved by a person, returned",
    counterparty: "escalate",
    tool: "returns",
    outcomes: [1],
  },
  rejected: {
    ...REFUSED,
    what: "parked, rejected by a person",
    counterparty: "escalate",
    tool: "returns",
  },
  invalidArguments: {
    ...connect,
    what: "arguments do not fit the tool's schema",
    tool: "returns",
    runs: 0,
    outcomes: [],
    counted: "notRun",
  },
  unknownTool: {
    ...connect,
    what: "there is no tool of that name",
    tool: "returns",
    runs: 0,
    outcomes: [],
    counted: "notRun",
  },
  cancelled: {
    ...connect,
    ...UNFINISHED,
    what: "aborted by its caller",
    tool: "hangs",
    isAgentFault: true,
  },
  cancelledForReason: {
    ...connect,
    ...UNFINISHED,
    what: "aborted by its caller with a reason of its own",
    tool: "hangs",
  },
  timedOut: {
    ...connect,
    ...UNFINISHED,
    what: "threw the `TimeoutError` of `AbortSignal.timeout`",
    tool: "times out",
    isAgentFault: true,
  },
  ungated: {
    ...connect,
    what: 'ran without a verdict: no gate, or `"run"` in `approvalByTool`',
    tool: "returns",
    outcomes: [],
    counted: "undecided",
  },
} satisfies Record<string, RailRow>;

export type RailCase = keyof typeof ROWS;

export const RAIL_ROWS: Readonly<Record<RailCase, RailRow>> = ROWS;
export const RAIL_CASES = Object.keys(ROWS) as RailCase[];

/** Where an adapter differs from the row, and why; without a result there is no such case. */
export interface RailException {
  readonly why: string;
  readonly instead?: RailResult;
}

type Exceptions = Readonly<Partial<Record<RailCase, RailException>>>;

const UNSEEN = { outcomes: [] } as const;
const unseen = (why: string): RailException => ({ why, instead: UNSEEN });
const none = (why: string): RailException => ({ why });

const NO_STREAM = none("a tool has no stream");
const NO_OUTPUT_SCHEMA = none("results are not checked");
const SEES_THROW = none("the rail sees the throw itself");
const ASKED_BEFORE = "the SDK does not call the rail";

/** A server's own error result, whatever became of the call there. */
const SERVERS_ERROR: RailException = {
  why: "the server answers a throw by an error value",
  instead: { outcomes: [0], fault: "the agent's" },
};
const FAILED_EVENT: RailException = {
  why: "the event holds no error",
  instead: { outcomes: [], counted: "faultUnknown" },
};
const NO_EVENT = none("eve has no event for it");

export const RAIL_ADAPTERS = {
  "AI SDK": {
    swallowedThrow: SEES_THROW,
    invalidOutput: NO_OUTPUT_SCHEMA,
    refused: unseen(ASKED_BEFORE),
    rejected: unseen(ASKED_BEFORE),
    invalidArguments: unseen(ASKED_BEFORE),
    unknownTool: unseen(ASKED_BEFORE),
    cancelledForReason: {
      why: "the event holds no signal",
      instead: { outcomes: [], counted: "faultUnknown" },
    },
  },
  "`aiSdkTools`": {
    swallowedThrow: SEES_THROW,
    invalidOutput: NO_OUTPUT_SCHEMA,
    rejected: unseen(ASKED_BEFORE),
    invalidArguments: unseen(ASKED_BEFORE),
    unknownTool: unseen(ASKED_BEFORE),
  },
  "OpenAI Agents": {
    swallowedThrow: SEES_THROW,
    invalidOutput: NO_OUTPUT_SCHEMA,
    refused: unseen(ASKED_BEFORE),
    rejected: unseen(ASKED_BEFORE),
    invalidArguments: unseen(ASKED_BEFORE),
    unknownTool: none("the SDK ends the run"),
  },
  LangChain: { streamed: NO_STREAM },
  Mastra: {
    streamed: NO_STREAM,
    swallowedThrow: SEES_THROW,
    rejected: unseen("Mastra does not call the hooks"),
    unknownTool: none("Mastra does not call the hooks"),
  },
  "MCP server": {
    streamed: NO_STREAM,
    swallowedThrow: SEES_THROW,
    invalidOutput: { why: "the SDK checks the result behind the rail", instead: { outcomes: [1] } },
    invalidArguments: unseen("the SDK checks them before the handler"),
    unknownTool: unseen("the SDK calls no handler"),
  },
  "MCP client": {
    streamed: NO_STREAM,
    threw: SERVERS_ERROR,
    threwAgentFault: SERVERS_ERROR,
    threwOtherFault: SERVERS_ERROR,
    timedOut: SERVERS_ERROR,
    retried: { why: SERVERS_ERROR.why, instead: { outcomes: [0, 1], fault: "the agent's" } },
  },
  eve: {
    streamed: NO_STREAM,
    swallowedThrow: SEES_THROW,
    threwAgentFault: FAILED_EVENT,
    threwOtherFault: FAILED_EVENT,
    timedOut: none("eve tells only that a call failed"),
    invalidOutput: NO_OUTPUT_SCHEMA,
    invalidArguments: NO_EVENT,
    unknownTool: NO_EVENT,
    cancelled: NO_EVENT,
    cancelledForReason: NO_EVENT,
  },
} satisfies Record<string, Exceptions>;

export type RailAdapter = keyof typeof RAIL_ADAPTERS;

export function findException(adapter: RailAdapter, railCase: RailCase): RailException | undefined {
  return (RAIL_ADAPTERS[adapter] as Exceptions)[railCase];
}

/** One row per case, as the page has it. */
export function renderRailTable(): string {
  const lines = RAIL_CASES.map((railCase) => {
    const row = RAIL_ROWS[railCase];
    return `| ${row.what} | ${renderResult(row).join(" | ")} | ${renderExceptions(railCase)} |`;
  });
  return [
    "| what happened | outcome | grade | whose fault | counted as | where it differs |",
    "|---|---|---|---|---|---|",
    ...lines,
    "",
  ].join("\n");
}

function renderResult({ outcomes, fault, counted }: RailResult): string[] {
  const isReported = outcomes.length > 0;
  const counts = [
    ...(isReported ? ["`queue.counts`"] : []),
    ...(counted ? [`\`${counted}\``] : []),
  ];
  return [
    isReported ? outcomes.join(", ") : "none",
    isReported ? "`counterparty`" : "",
    fault ?? "",
    counts.join(", "),
  ];
}

/** Adapters that differ in the same way are named together. */
function renderExceptions(railCase: RailCase): string {
  const adapters = new Map<string, string[]>();
  for (const adapter of Object.keys(RAIL_ADAPTERS) as RailAdapter[]) {
    const exception = findException(adapter, railCase);
    if (exception === undefined) continue;
    const text = `${renderInstead(exception.instead)} (${exception.why})`;
    adapters.set(text, [...(adapters.get(text) ?? []), adapter]);
  }
  return [...adapters].map(([text, names]) => `${names.join(", ")}: ${text}`).join("; ");
}

function renderInstead(instead: RailResult | undefined): string {
  if (instead === undefined) return "no such case";
  const { outcomes, counted } = instead;
  if (outcomes.length > 0) return outcomes.join(", ");
  return counted === undefined ? "not counted" : `\`${counted}\``;
}

// Messages that list agents and what is known of them: the agents themselves, one agent's days, and
// outcomes as they were reported.
import { ATTESTERS, GRADES, REGIMES, SIGNATURES, TIERS } from "../vocabulary.ts";
import * as t from "./schema.ts";

/** In which order agents are listed; a minus: the largest first. */
export const AGENT_ORDERS = ["name", "score", "-score", "-outcomes", "-last_outcome"] as const;
export type AgentOrder = (typeof AGENT_ORDERS)[number];

/** Where a page of agents begins: behind this value of the order's column, and this name. */
export interface AgentListCursor {
  /** Unused where the order is by name. */
  readonly value: number;
  readonly agent: string;
}

interface TenantRestriction {
  /** Whose rows; undefined: everybody's. */
  readonly tenant: string | undefined;
}

interface PageRestriction extends TenantRestriction {
  readonly limit: number;
}

/** Whose agents a key sees with their scores. */
export interface AgentRestriction extends TenantRestriction {
  /** With `analytics:read` all that the tenant's rows name, else those it asked about, reported on or owns. */
  readonly isAnalyst: boolean;
}

/** Which agents are listed. */
export interface AgentFilter extends AgentRestriction, PageRestriction {
  readonly prefix?: string | undefined;
  readonly contains?: string | undefined;
  readonly tier?: (typeof TIERS)[number] | undefined;
  readonly order: AgentOrder;
  readonly after?: AgentListCursor | undefined;
}

/** Which outcomes are listed, newest first. */
export interface OutcomeFilter extends PageRestriction {
  readonly subject?: string | undefined;
  readonly reporter?: string | undefined;
  /** Position in the journal. */
  readonly before?: number | undefined;
}

/** Which days of which agent. */
export interface AgentDaysFilter extends AgentRestriction {
  readonly agent: string;
  /** First day asked for, as `2026-01-31`, UTC. */
  readonly from: string;
}

const agent = t.defineObject({
  agent_id: t.text,
  namespace: t.textOrNull,
  tier: t.defineChoice(TIERS),
  regime: t.defineNullableAnswer(t.defineChoice(REGIMES)),
  ...t.repeatSchema(t.number, "score", "internal_score", "effective_score"),
  ...t.repeatSchema(t.number, "failure_probability", "failure_optimistic", "failure_pessimistic"),
  ...t.repeatSchema(t.integer, "outcomes", "reported"),
  ...t.repeatSchema(t.number, "successes_90d", "failures_90d"),
  ...t.repeatSchema(t.timeOrNull, "first_seen_at", "last_outcome_at", "last_failure_at"),
  credibility: t.withDescription(t.numberOrNull, "As a reporter, 0 to 1; null for a stranger."),
  cluster: t.withDescription(t.integerOrNull, "Reporters of one number are one voice."),
});

export const AgentList = t.defineMessage("AgentList", {
  agents: t.defineList(agent),
  total: t.withDescription(t.integer, "Agents under the filter, of all pages."),
  next: t.withDescription(t.textOrNull, "`after` of the next page; null behind the last entry."),
  as_of: t.withDescription(
    t.timeOrNull,
    "When the scores were read; null before the first reading.",
  ),
});
export type AgentList = t.MessageOf<typeof AgentList>;
export type ListedAgent = t.MessageOf<typeof agent>;

/** What the store answers: a page without the place of the next. */
export interface AgentPage {
  readonly agents: ListedAgent[];
  readonly total: number;
  /** Of the last agent; undefined when the page is not full. */
  readonly last: AgentListCursor | undefined;
  /** Epoch ms; 0 before the first reading. */
  readonly asOfMs: number;
}

/** Where a day's score comes from. */
const SCORE_ORIGINS = ["reading", "decision"] as const;

const agentDay = t.defineObject({
  day: t.text,
  ...t.repeatSchema(t.integer, "outcomes", "failures"),
  ...t.repeatSchema(t.number, "stakes_total", "stakes_failed"),
  decisions: t.withDescription(t.integer, "Times that the agent was judged."),
  denials: t.withDescription(t.integer, "How many of those verdicts were not ALLOW."),
  internal_score: t.withDescription(
    t.numberOrNull,
    "300 to 850; null on days without a score on record.",
  ),
  failure_probability: t.numberOrNull,
  score_from: t.withDescription(
    t.defineNullableAnswer(t.defineChoice(SCORE_ORIGINS)),
    "`decision`: as the day's last decision had it; `reading`: the day's first reading of all scores.",
  ),
});
export type AgentDay = t.MessageOf<typeof agentDay>;

export const AgentHistory = t.defineMessage("AgentHistory", {
  agent_id: t.text,
  from: t.withDescription(t.text, "First day looked at, UTC."),
  days: t.withDescription(
    t.defineList(agentDay),
    "Days on which something is on record, oldest first.",
  ),
});

const recorded = t.defineObject({
  position: t.withDescription(t.integer, "Position in the evidence journal."),
  ...t.repeatSchema(t.text, "outcome_id", "subject", "reporter"),
  outcome: t.defineSchema<0 | 1>({ enum: [0, 1] }),
  stakes: t.number,
  grade: t.withDescription(t.defineChoice(GRADES), "What it weighs as."),
  claimed_grade: t.withDescription(
    t.defineChoice(GRADES),
    "As sent: above `grade` where nothing proves it, below it where it is attested.",
  ),
  attested: t.withDescription(
    t.defineNullableAnswer(t.defineChoice(ATTESTERS)),
    "Who signed the transaction beside the reporter: the subject's owner or a named mediator.",
  ),
  transaction_id: t.withDescription(t.textOrNull, "The attested transaction."),
  signature: t.withDescription(
    t.defineChoice(SIGNATURES),
    "`reporter`: signed with the reporter's key; `bureau`: imported by the operator; `none`: unsigned.",
  ),
  agent_fault: t.flag,
  ...t.repeatSchema(t.text, "tenant", "source"),
  ...t.repeatSchema(t.textOrNull, "action", "request_id", "kid"),
  ...t.repeatSchema(t.timeOrNull, "settled_at", "recorded_at"),
  incident_id: t.textOrNull,
  counted_share: t.withDescription(
    t.number,
    "Share of its weight that counted: below 1 for a failure beyond the cap of its incident.",
  ),
});
export type RecordedOutcome = t.MessageOf<typeof recorded>;

export const OutcomeList = t.defineMessage("OutcomeList", {
  outcomes: t.defineList(recorded),
  next: t.withDescription(
    t.integerOrNull,
    "`before` of the next page; null behind the last entry.",
  ),
});

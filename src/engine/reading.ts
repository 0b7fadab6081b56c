// Port of the engine: plain numbers and indexes into the vocabulary. An EngineReader owns one WASM
// instance in its thread; `Reading` objects are reused, so copy whatever must outlive the next
// call.

/**
 * One leg: an agent's score for given stakes. What the stakes add to the risk, and what the record is held
 * back for, are the inputs of the decision at stakes (policy/stakes-decision.ts). Stakes are in the bureau's
 * unit of account.
 * All indexes are into contract/vocabulary.ts.
 */
export interface AgentScore {
  /** False when the agent has no row: it is scored as a newcomer. */
  isKnown: boolean;
  /** Probability of failure: expected, optimistic (p-), pessimistic (p+). 0 to 1. */
  failureProbability: number;
  failureOptimistic: number;
  failurePessimistic: number;
  /** 300 to 850. */
  scoreInternal: number;
  /** 300 to 850, fractional, pessimistic. */
  scoreEffective: number;
  tierIndex: number;
  /** -1 without history. */
  regimeIndex: number;
  /** Outcomes have resolved too little: a second look, never a denial. */
  isThin: boolean;
  /** The failure probability itself, stakes apart, is above the border of denial. */
  isDenied: boolean;
  /** True when the refuse rule holds, whatever the stakes (drives BLOCK in verify). */
  isRefused: boolean;
  /** Whether the record may deny at all: it is not thin, and weighs enough as of now. */
  isJudged: boolean;
  /** As the check model reads the subject: of a check, the same as above. */
  recordProbability: number;
  recordOptimistic: number;
  isRecordThin: boolean;
  isRecordDenied: boolean;
  isRecordRefused: boolean;
  /** Cautious log-odds of failure without what stakes add, and what they add (assembly/stakes.ts). */
  stakesLogit: number;
  stakesNovelty: number;
  stakesUntested: number;
  stakesProven: number;
  stakesReach: number;
  /** Shares of failures that verifying and a person catch, by the config. */
  verifyCatch: number;
  humanCatch: number;
  /** Days since the agent was heard of; -1: never. */
  silentDays: number;
  /** Index into DECISIONS of a reserved test agent, whatever its numbers; -1 for a measured score. */
  fixedDecisionIndex: number;
  /**
   * Smallest and largest stakes (Infinity: any) around those given at which all of the reading but the
   * reasons is the same.
   */
  stakesFrom: number;
  stakesTo: number;
  /** Indexes into REASON_CODES by weight, and how many are set (0 to 4). */
  reasonIndexes: Uint8Array;
  reasonCount: number;
  /** Number of the active config; `configVersion(n)` gives its name. */
  configNumber: number;
}

/** A leg as it was logged: enough to judge it again. */
export interface LoggedInputs {
  inputs: ArrayLike<number>;
  isKnown: boolean;
  /** Which model: true for that of the handshake, false for that of check and verify. */
  isHandshake: boolean;
  stakes: number;
}

/** Synchronous reads over the shared agent table. One per thread; not re-entrant. */
export interface EngineReader {
  /** Scores one agent on the subject track (check, verify). `nowMs` is epoch ms. */
  check(subject: string, stakes: number, nowMs: number): AgentScore;
  /** Scores both legs: [0] a_to_b scores the counterparty, [1] b_to_a scores the initiator. */
  handshake(
    initiator: string,
    counterparty: string,
    stakes: number,
    nowMs: number,
  ): readonly [AgentScore, AgentScore];
  /** All fields of one agent, for `GET /v1/agents/{id}`. */
  explain(subject: string, nowMs: number): AgentScoreDetails;
  /**
   * Inputs of the last check, or of a leg of the last handshake (0: a_to_b, 1: b_to_a): words
   * LEG_INPUTS on. A live view: copy whatever must outlive the next call.
   */
  viewLegInputs(leg: 0 | 1): Float64Array;
  /** Judges logged inputs again. Undefined when no config of that name is held any more. */
  rejudge(logged: LoggedInputs, configVersion: string): AgentScore | undefined;
  /** Whether `rejudge` knows the config: configs that were live before this start are not held. */
  holdsConfig(configVersion: string): boolean;
  readonly activeConfigVersion: string;
  /** The content-addressed name of a config number, `c-` and 16 hex digits. */
  findConfigVersion(configNumber: number): string;
  readonly agentCount: number;
  /** Whether reporters' credibility counts in the fold. */
  readonly areStandingsInForce: boolean;
}

export interface AgentScoreDetails extends AgentScore {
  /** All that were reported, those that an incident's cap left nothing of included. */
  outcomeCount: number;
  reportedCount: number;
  successes90: number;
  failures90: number;
  successes14: number;
  failures14: number;
  /** Epoch ms, 0 when never. */
  firstSeenMs: number;
  lastOutcomeMs: number;
  lastFailureMs: number;
  /** When it was last heard of by weight: light outcomes move it part of the way. */
  heardAtMs: number;
  /** Of these, failures that the cap of an incident made count for nothing. */
  cappedFailures: number;
  stakesProven: number;
  /** Failed texts, capped and faded to now, by ASSESSMENT_KINDS. */
  failedTexts: [hallucination: number, unverified: number];
  /** Epoch ms of the newest of them, 0 when never. */
  lastAssessedMs: number;
  /** FLAG_* of the row, 0 without one. */
  flags: number;
  /** rho, 0 to 1; holds with FLAG_CREDIBILITY. */
  credibility: number;
  /** Reporter cluster, 0 for none. */
  cluster: number;
  /** Whether that cluster is a ring. */
  isInRing: boolean;
  /** Whether credibility counts in the fold. */
  areStandingsInForce: boolean;
  /** Factor of the fold on a signed report's weight, 0 to 1. */
  reporterWeight: number;
  /** One entry per scorecard feature: points below zero lower the score. */
  features: { name: string; value: number; points: number }[];
}

/** One outcome as the engine folds it. */
export interface FoldOutcome {
  subject: string;
  reporter: string;
  /** 1 success, 0 failure. */
  outcome: 0 | 1;
  stakes: number;
  /** Index into GRADES. */
  gradeIndex: number;
  /** Index into SIGNATURES. */
  signatureIndex: number;
  settledAtMs: number;
  /** A VOICE_* or a stranger's number; left out: the reporter answers for it. */
  voice?: number;
  /** Time whose hour a failure counts in; left out: that of settlement. */
  incidentAtMs?: number;
  /** Number of the incident that a failure names (hashIncident); 0 or left out: none. */
  incident?: number;
}

/** One failed text as the engine folds it. */
export interface FoldAssessment {
  agent: string;
  /** Number of the asking tenant (askerOf). */
  asker: number;
  /** Index into ASSESSMENT_KINDS. */
  kindIndex: number;
  assessedAtMs: number;
}

/** Result of one credibility batch for one agent. */
export interface AgentStanding {
  agent: string;
  /** FLAG_* within STANDING_FLAGS; other bits are left as they are. */
  flags: number;
  /** Reporter credibility rho, 0 to 1; counts only with FLAG_CREDIBILITY. */
  credibility: number;
  /** Reporter cluster, 0 for none; with RING_BIT: it is a ring. */
  cluster: number;
}

/** One part of a credibility batch, as it is journaled and applied. */
export interface StandingsPart {
  /** False: every reporter counts fully, whatever its standing. */
  isInForce: boolean;
  /** Stakes that count fully (95th percentile), 0 for the config's. */
  stakesHigh: number;
  agents: readonly AgentStanding[];
}

/** Entries that a record adds to the table. */
export interface NewEntries {
  agents: number;
  /** Bytes of the identifiers of those agents, at most. */
  identifierBytes: number;
  pairs: number;
}

/** Room in the table, asked for before a record is journaled. Of the writer's thread. */
export interface TableCapacity {
  readonly agents: number;
  readonly pairs: number;
  /** Most bytes that the table may have. */
  readonly bytesMax: number;
  /** Share of the room in use, 0 to 1. */
  computeFillShare(): number;
  /** Whether so much fits; all of it will then be folded. */
  hasCapacityFor(entries: NewEntries): boolean;
  /** What folding this outcome would add. The object is reused. */
  estimateNewEntries(outcome: FoldOutcome): Readonly<NewEntries>;
}

/**
 * The single writer: folds outcomes into the table and swaps configs. Lives in the ledger. What finds
 * no room changes nothing and is counted (`TableUse.overflow`).
 */
export interface EngineWriter {
  /**
   * Returns the share, 0 to 1, of its weight that the outcome counted for: less than 1 only for a
   * failure beyond the cap of its incident.
   */
  fold(outcome: FoldOutcome): number;
  foldAssessment(assessment: FoldAssessment): void;
  applyStandings(standings: StandingsPart): void;
  /**
   * Marks that the agent's newest key was revoked, or that a good one followed: refused until then.
   */
  markKeyRevoked(agent: string, isRevoked: boolean): void;
}

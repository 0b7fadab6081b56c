// Bureau for tests over the real engine: the sample history folded by the real writer, a clock
// fixed at its newest moment. The ledger is the caller's: only outcomes need one.
import { readFileSync } from "node:fs";

import type { Bureau, CallContext } from "../../src/bureau/bureau.ts";
import { openBureau } from "../../src/bureau/open.ts";
import type { ActivitySource } from "../../src/contract/activity/source.ts";
import type { AssessmentLog } from "../../src/contract/assessments.ts";
import { emptyVaultAssessor } from "../../src/bureau/decisions/provenance.ts";
import type {
  ProvenanceAssessor,
  ProvenanceFinding,
} from "../../src/bureau/decisions/provenance.ts";
import type { ReporterRegistry } from "../../src/bureau/reporters/key-registry.ts";
import type { ReviewDecisionSource } from "../../src/bureau/reviews/decision-cache.ts";
import type { BureauEnvironment } from "../../src/bureau/services.ts";
import type { DecisionLog } from "../../src/contract/decisions.ts";
import type { Principal } from "../../src/contract/principal.ts";
import { GRADES, SIGNATURES } from "../../src/contract/vocabulary.ts";
import { loadDefaultConfig } from "../../src/engine/config.ts";
import { createEngineMemory } from "../../src/engine/memory.ts";
import { openEngineReader } from "../../src/engine/reader.ts";
import type { EngineReader } from "../../src/engine/reading.ts";
import { openEngineWriter } from "../../src/engine/writer.ts";
import type { Ledger } from "../../src/ledger/ledger.ts";
import { UuidV7Generator } from "../../src/platform/uuid.ts";
import type { PolicySource } from "../../src/policy/active-policy.ts";

export const NEWEST_MS = Date.UTC(2026, 0, 1);

export const principal: Principal = {
  keyId: "key-1",
  tenant: "acme",
  scopes: new Set(["admin"]),
  minimumScores: { L0: 575, L1: 575, L2: 575, L3: 575 },
  isShadow: false,
  isFirstParty: true,
  voice: 2,
};

export const call: CallContext = { requestId: "request-1", principal };

/** A text that fails for certain in sample bureaus without an assessor of their own. */
export const BROKEN_TEXT = "not what was recorded";

const BROKEN_FINDING: ProvenanceFinding = {
  data: { is_hallucinated: true, source_verified: false, reason: "It is recorded as false." },
  reasonCode: "CONTENT_RECORDED_FALSE",
  hardFailureCode: "CONTENT_RECORDED_FALSE",
};

const sampleAssessor: ProvenanceAssessor = {
  assess: (context) =>
    context.content === BROKEN_TEXT ? BROKEN_FINDING : emptyVaultAssessor.assess(context),
};

/** Delays that were asked for, so that a test need not wait for them. */
export interface TestBureau {
  readonly bureau: Bureau;
  readonly engine: EngineReader;
  readonly delaysMs: number[];
}

/** A bureau that has seen the sample history. */
export function openSampleBureau(
  options: {
    isReservedEnabled?: boolean;
    ledger?: Ledger;
    provenance?: ProvenanceAssessor;
    policies?: PolicySource;
    clock?: () => number;
    assessments?: AssessmentLog;
    decisions?: DecisionLog;
    reviews?: ReviewDecisionSource;
    activity?: ActivitySource;
    registry?: ReporterRegistry;
  } = {},
): TestBureau {
  const memory = createEngineMemory();
  const writer = openEngineWriter(memory, loadDefaultConfig(), 1n);
  const sample = new URL("../../data/sample/outcomes.ndjson", import.meta.url);
  for (const line of readFileSync(sample, "utf8").trim().split("\n")) {
    const row = JSON.parse(line);
    writer.fold({
      subject: row.subject,
      reporter: row.reporter,
      outcome: row.outcome,
      stakes: row.stakes,
      gradeIndex: GRADES.indexOf(row.grade),
      signatureIndex: SIGNATURES.indexOf("bureau"),
      settledAtMs: Date.parse(row.settled_at),
    });
  }
  const engine = openEngineReader(memory, 1);
  const delaysMs: number[] = [];
  const environment: BureauEnvironment = {
    delay: (ms) => {
      delaysMs.push(ms);
      return Promise.resolve();
    },
    outcomeIds: new UuidV7Generator((bytes) => bytes.fill(7)),
    isReservedEnabled: options.isReservedEnabled ?? true,
  };
  const ledger = options.ledger ?? closedLedger;
  const { provenance = sampleAssessor, policies, assessments, decisions, reviews } = options;
  const { activity, registry } = options;
  const bureau = openBureau({
    engine,
    ledger,
    clock: options.clock ?? (() => NEWEST_MS),
    environment,
    provenance,
    ...(policies === undefined ? {} : { policies }),
    ...(assessments === undefined ? {} : { assessments }),
    ...(decisions === undefined ? {} : { decisions }),
    ...(reviews === undefined ? {} : { reviews }),
    ...(activity === undefined ? {} : { activity }),
    ...(registry === undefined ? {} : { registry }),
  });
  return { bureau, engine, delaysMs };
}

/** For tests that only read: taking evidence is an error. */
export const closedLedger: Ledger = {
  append: () => Promise.reject(new Error("no evidence in this test")),
  appendBatch: () => Promise.reject(new Error("no evidence in this test")),
  pendingCount: 0,
  close: () => Promise.resolve(),
};

// Puts the bureau together: the one constructor of the `Bureau` port over an engine and a ledger.
import { ServiceFault } from "../contract/faults.ts";
import type { Bureau } from "./bureau.ts";
import { emptyEntry, withoutLog } from "./decision-entry.ts";
import type { BureauOptions, Desk } from "./desk.ts";
import { explain } from "./explain.ts";
import { check, handshake } from "./legs.ts";
import { OutcomeIds } from "./outcome-ids.ts";
import { recordOutcomeBatch } from "./outcome-batch.ts";
import { importOutcomes, recordOutcome } from "./outcomes.ts";
import { replay } from "./replay.ts";
import { withoutVault } from "./provenance.ts";
import { VerdictTimes } from "./timestamp.ts";
import { verify } from "./verify.ts";

/** For bureaus that only read, or that are given no signatures. */
const withoutEvents: Desk["events"] = {
  appendEvidence: () =>
    Promise.reject(new ServiceFault("journal_unavailable", "signed batches are not kept here")),
};

/** A bureau for one thread: it shares the engine's reused readings, so it is not re-entrant. */
export function openBureau(options: BureauOptions): Bureau {
  const desk: Desk = {
    engine: options.engine,
    ledger: options.ledger,
    events: options.events ?? withoutEvents,
    clock: options.clock,
    environment: options.environment,
    provenance: options.provenance ?? withoutVault,
    decisions: options.decisions ?? withoutLog,
    entry: emptyEntry(),
    nowMs: 0,
    times: new VerdictTimes(),
    outcomeIds: new OutcomeIds((bytes) => options.environment.fillRandom(bytes)),
  };
  return {
    verify: (request, call) => verify(desk, request, call),
    check: (request, call) => check(desk, request, call),
    handshake: (request, call) => handshake(desk, request, call),
    recordOutcome: (request, call) => recordOutcome(desk, request, call),
    recordOutcomeBatch: (rows, call) => recordOutcomeBatch(desk, rows, call),
    importOutcomes: (requests, source, call) => importOutcomes(desk, requests, source, call),
    explain: (agentId) => explain(desk, agentId),
    replay: (legs, configVersion) => replay(desk, legs, configVersion),
  };
}

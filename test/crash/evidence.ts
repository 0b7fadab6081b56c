// Checks of a data directory after any crash: every acknowledged id once in the journal at its
// acknowledged position, the agent table as a slow reference folds it, the same rows in DuckDB.
// Follows the journal from check to check, as a reader that changes nothing. Outcomes signed with a
// key after it was compromised are left out by the rule itself, over the whole log, once more.
import { existsSync } from "node:fs";
import { join } from "node:path";
import type { AgentExplanation } from "../../src/contract/schemas/scores.ts";
import { GRADES, SIGNATURES } from "../../src/contract/vocabulary.ts";
import { VOICE_FIRST_PARTY } from "../../src/contract/voices.ts";
import { loadDefaultConfig } from "../../src/engine/config.ts";
import { diskFileLayer } from "../../src/platform/files.ts";
import { CHAIN_START, FRAME_KINDS, readFrameKind } from "../../src/journal/format.ts";
import { decodeOutcome } from "../../src/journal/outcome.ts";
import { recoverJournal } from "../../src/journal/recovery.ts";
import type { OutcomeRecord } from "../../src/journal/records.ts";
import type { FoldAssessment } from "../../src/engine/reading.ts";
import { decodeAssessment } from "../../src/journal/assessments.ts";
import { copyFramePayload } from "../../src/ledger/state.ts";
import { ReferenceBureau } from "../reference/score.ts";
import { KeyRecords, type SignedFold } from "./key-records.ts";
import type { CrashServer } from "./server.ts";
import { type Acknowledged, agentOf, AGENTS } from "./writers.ts";
import { WAIT_MS_MAX } from "../_patience.ts";

/** As in the differential test: software and hardware exp differ in the last bits. */
const TOLERANCE = 1e-5;

export class Evidence {
  /** By the reporter's id. */
  readonly found = new Map<string, Acknowledged>();
  readonly keys = new KeyRecords();
  lsn = 0;
  readonly #journal: string;
  #reference = new ReferenceBureau(loadDefaultConfig());
  /** Every outcome and assessment, in order of position. */
  readonly #records: (SignedFold | FoldAssessment)[] = [];
  #chain: Uint8Array = CHAIN_START;
  readonly #seen = new Set<string>();

  constructor(dataDir: string) {
    this.#journal = join(dataDir, "journal");
  }

  /** Reads what is new in the journal of a stopped server; returns what is wrong. */
  follow(): string[] {
    if (!existsSync(this.#journal)) return [];
    const wrong: string[] = [];
    const from = this.lsn === 0 ? {} : { from: { lsn: this.lsn, chain: this.#chain } };
    const excluded = this.keys.excludedCount;
    const foldedBefore = this.#records.length;
    const visit = (bytes: Buffer, at: number, lsn: number) => {
      if (readFrameKind(bytes, at) === FRAME_KINDS.key) this.keys.take(copyFramePayload(bytes, at));
      if (readFrameKind(bytes, at) === FRAME_KINDS.assessment) {
        const assessment = decodeAssessment(bytes, at);
        const text = `${assessment.agent} ${assessment.digest}`;
        if (this.#seen.has(text)) wrong.push(`${text} is in the journal twice`);
        this.#seen.add(text);
        this.#records.push(assessment);
      }
      if (readFrameKind(bytes, at) !== FRAME_KINDS.outcome) return;
      const record = decodeOutcome(bytes, at);
      const id = record.idempotencyKey.split("\n").at(-1) ?? "";
      if (this.found.has(id) || this.#seen.has(record.outcomeId)) {
        wrong.push(`${id} is in the journal twice`);
      }
      this.#seen.add(record.outcomeId);
      this.found.set(id, { outcomeId: record.outcomeId, position: lsn });
      const { proof, recordedAtMs } = record;
      this.#records.push({ kid: proof?.kid, recordedAtMs, outcome: foldedOf(record) });
    };
    const mode = { isReadOnly: true, ...from };
    const { tail } = recoverJournal(diskFileLayer, this.#journal, visit, mode);
    this.lsn = tail.lsn;
    this.#chain = tail.chain;
    if (this.keys.excludedCount === excluded) this.#fold(foldedBefore);
    else {
      this.#reference = new ReferenceBureau(loadDefaultConfig());
      this.#fold(0);
    }
    return wrong;
  }

  #fold(from: number): void {
    for (let at = from; at < this.#records.length; at++) {
      const record = this.#records[at]!;
      if ("asker" in record) this.#reference.texts.add(record);
      else if (!this.keys.excludes(record)) this.#reference.fold(record.outcome);
    }
  }

  /** Failed texts in the journal. */
  get assessedCount(): number {
    return this.#records.filter((record) => "asker" in record).length;
  }

  /** How many outcomes about `agent` were reported; those that an incident's cap took are among them. */
  outcomesOf(agent: string): number {
    const row = this.#reference.agents.get(agent);
    return row === undefined ? 0 : row.outcomes + row.incidents.capped;
  }

  /** Acknowledged ids that are not where they were promised to be. */
  missing(acknowledged: ReadonlyMap<string, Acknowledged>): string[] {
    return [...acknowledged].flatMap(([id, { outcomeId, position }]) => {
      const found = this.found.get(id);
      if (found?.outcomeId === outcomeId && found.position === position) return [];
      return [`${id}: acknowledged at ${position}, found ${found?.position ?? "nowhere"}`];
    });
  }

  /** Compares every agent as the running server explains it with the reference fold. */
  async tableFaults(server: CrashServer, more: readonly string[] = []): Promise<string[]> {
    const wrong: string[] = [];
    const agents = Array.from({ length: AGENTS }, (_, number) => agentOf(number));
    for (const id of [...agents, ...more]) {
      const { body } = await server.get(`/v1/agents/${encodeURIComponent(id)}`);
      const told = body as AgentExplanation;
      const now = Date.parse(told.evaluated_at);
      const outcomes = this.outcomesOf(id);
      const { probability } = this.#reference.score(id, null, 0, now);
      const distance = Math.abs(told.failure_probability.expected - probability);
      if (told.evidence.outcomes !== outcomes || distance > TOLERANCE) {
        wrong.push(`${id}: ${told.evidence.outcomes} outcomes, expected ${outcomes}`);
      }
    }
    return wrong;
  }

  /** Compares what DuckDB holds, once it has caught up, with the journal. */
  async storeFaults(server: CrashServer): Promise<string[]> {
    const until = Date.now() + WAIT_MS_MAX;
    const wanted = [this.found.size, this.found.size];
    for (;;) {
      const sql = "SELECT count(*), count(DISTINCT outcome_id) FROM outcomes";
      const { status, body } = await server.post("/v1/query", JSON.stringify({ sql }));
      const counts = status === 200 ? Object.values((body as { rows: [object] }).rows[0]) : [];
      if (counts.map(Number).join() === wanted.join()) break;
      if (Date.now() > until) return [`DuckDB holds ${counts.join()}, expected ${wanted.join()}`];
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
    const newest = [...this.found].slice(-500);
    const sql = `SELECT CAST(outcome_id AS VARCHAR), position FROM outcomes
      WHERE position > ${(newest[0]?.[1].position ?? 1) - 1} ORDER BY position`;
    const { body } = await server.post("/v1/query", JSON.stringify({ sql }));
    const rows = new Map(
      (body as { rows: object[] }).rows.map((row) => Object.values(row) as [string, unknown]),
    );
    return newest.flatMap(([id, { outcomeId, position }]) =>
      Number(rows.get(outcomeId)) === position ? [] : [`${id} is not in DuckDB at ${position}`],
    );
  }
}

function foldedOf(record: OutcomeRecord) {
  const { subject, reporter, outcome, stakes, gradeIndex, settledAtMs, signature } = record;
  const isVouched = record.isFirstParty === true;
  const signatureIndex = SIGNATURES.indexOf(
    isVouched && signature === "none" ? "bureau" : signature,
  );
  const voice = isVouched ? VOICE_FIRST_PARTY : (record.voice ?? 0);
  if (gradeIndex >= GRADES.length) throw new RangeError(`grade ${gradeIndex}?`);
  return { subject, reporter, outcome, stakes, gradeIndex, signatureIndex, settledAtMs, voice };
}

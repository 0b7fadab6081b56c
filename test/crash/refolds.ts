// Kills while a revocation is folded out of the table: a key that signed thousands of outcomes is
// revoked as compromised under eight writers, and the server dies at a random moment of the
// re-fold, of the swap behind it, or of the start that has to do it again.
import { setTimeout as wait } from "node:timers/promises";
import type { AgentExplanation } from "../../src/contract/schemas/scores.ts";
import { Evidence } from "./evidence.ts";
import { type CrashServer, launchServer, startServer } from "./server.ts";
import { SIGNER_IDS, type SignedKey, Signers, WITNESS, WITNESSED_PER_BATCH } from "./signers.ts";
import { Writers } from "./writers.ts";
import { WAIT_MS_MAX } from "../_patience.ts";

const BATCHES = 2;
/** Kills fall into so many times the length of the last re-fold that was seen to its end. */
const REACH = 1.2;
const NO_SWAP = `no other table ${WAIT_MS_MAX} ms after a revocation`;
/** A kill that waits for the swap follows it within so long. */
const SWAP_REACH_MS = 20;
/** Of four rounds one revokes two keys, one kills the next start too, one waits for the swap. */
const KINDS = 4;
const TWO_KEYS = 1;
const START_KILL = 2;
const SWAP_KILL = 3;

export interface RefoldReport {
  rounds: number;
  acknowledged: number;
  /** Where the kills fell, by what a client had seen by then. */
  readonly fell: { unanswered: number; refolding: number; swapped: number; starting: number };
  readonly faults: string[];
}

export interface RefoldPlan {
  readonly rounds: number;
  /** Outcomes in the journal before the first round: what a re-fold has to go through. */
  readonly history: number;
}

/**
 * Runs `plan.rounds` over one data directory. Ends early at the first broken promise.
 * @param random in [0, 1): decides every moment.
 */
export async function refoldRounds(
  dataDir: string,
  plan: RefoldPlan,
  random: () => number,
  progress: (line: string) => void,
): Promise<RefoldReport> {
  const run = new RefoldRun(dataDir, random);
  const { report } = run;
  await run.prepare(plan.history);
  for (let round = 0; round < plan.rounds && report.faults.length === 0; round++) {
    await run.round(round);
    const { unanswered, refolding, swapped, starting } = report.fell;
    const fell = `${unanswered} before the answer, ${refolding} during, ${swapped} after`;
    progress(`re-fold ${round + 1} of ${plan.rounds}: ${fell}, ${starting} in the start`);
  }
  if (report.faults.length === 0) await run.check("SIGTERM");
  return report;
}

/** What the kill is aimed by, and what a client saw of the re-fold. */
interface Watch {
  isAnswered: boolean;
  isSwapped: boolean;
  isOver: boolean;
}

class RefoldRun {
  readonly report: RefoldReport = {
    rounds: 0,
    acknowledged: 0,
    fell: { unanswered: 0, refolding: 0, swapped: 0, starting: 0 },
    faults: [],
  };
  readonly #dataDir: string;
  readonly #random: () => number;
  readonly #evidence: Evidence;
  readonly #writers = new Writers();
  readonly #signers = new Signers();
  /** Keys whose revocation was answered: they must be revoked for ever after. */
  readonly #revoked = new Set<string>();
  #refoldMs = 0;
  #startMs = 0;

  constructor(dataDir: string, random: () => number) {
    this.#dataDir = dataDir;
    this.#random = random;
    this.#evidence = new Evidence(dataDir);
  }

  /** Fills the journal and lets one re-fold run to its end, to know how long it takes. */
  async prepare(history: number): Promise<void> {
    const server = await startServer(this.#dataDir);
    await this.#signers.fill(server, history);
    const key = await this.#signers.sign(server, 0, BATCHES);
    this.#writers.start(server);
    const startedAt = performance.now();
    const watch = { isAnswered: false, isSwapped: false, isOver: false };
    const before = await witnessed(server);
    await this.#revoke(server, key, watch);
    while ((await witnessed(server)) >= before) {
      if (performance.now() - startedAt < WAIT_MS_MAX) continue;
      this.report.faults.push(NO_SWAP);
      break;
    }
    this.#refoldMs = performance.now() - startedAt;
    await server.kill();
    await this.#writers.stop();
    this.#follow();
  }

  async round(round: number): Promise<void> {
    const server = await this.#startChecked();
    const kind = round % KINDS;
    const keys = [await this.#signers.sign(server, round + 1, BATCHES)];
    if (kind === TWO_KEYS) keys.push(await this.#signers.sign(server, round + 2, BATCHES));
    this.#writers.start(server);
    const watch: Watch = { isAnswered: false, isSwapped: false, isOver: false };
    const before = await witnessed(server);
    const startedAt = performance.now();
    const watching = this.#watch(server, watch, before, startedAt);
    const revoking = keys.map((key) => this.#revoke(server, key, watch));
    if (kind === SWAP_KILL) {
      while (!watch.isSwapped && performance.now() - startedAt < WAIT_MS_MAX) await wait(1);
      if (!watch.isSwapped) this.report.faults.push(NO_SWAP);
      await wait(this.#random() * SWAP_REACH_MS);
    } else await wait(this.#random() * REACH * this.#refoldMs);
    this.#count(watch);
    watch.isOver = true;
    await server.kill();
    await Promise.all([...revoking, watching, this.#writers.stop()]);
    if (kind === START_KILL) await this.#killStart();
    this.#follow();
    this.report.rounds++;
  }

  /** A start over what is there: everything must be as the journal says. Ends with `signal`. */
  async check(signal: NodeJS.Signals): Promise<void> {
    const server = await this.#startChecked();
    await server.kill(signal);
  }

  async #startChecked(): Promise<CrashServer> {
    const startedAt = performance.now();
    const server = await startServer(this.#dataDir);
    this.#startMs = performance.now() - startedAt;
    const { faults } = this.report;
    faults.push(...(await this.#evidence.tableFaults(server, [WITNESS])));
    faults.push(...(await this.#markFaults(server)));
    faults.push(...(await this.#evidence.storeFaults(server)));
    return server;
  }

  /** Whoever has no good key left is refused, whoever has one is not. */
  async #markFaults(server: CrashServer): Promise<string[]> {
    const wrong: string[] = [];
    for (const agent_id of SIGNER_IDS) {
      const request = { agent_id, action: "order.place", tool_level: "L1", context: {} };
      const { body } = await server.post("/v1/trust/verify", JSON.stringify(request));
      const { reason_codes: codes = [] } = body as { reason_codes?: string[] };
      const isMarked = codes.includes("KEY_REVOKED");
      if (isMarked === this.#evidence.keys.isNewestRevoked(agent_id)) continue;
      wrong.push(`${agent_id}: ${isMarked ? "" : "not "}refused for its key`);
    }
    return wrong;
  }

  async #revoke(server: CrashServer, key: SignedKey, watch: Watch): Promise<void> {
    const since = key.moments[Math.floor(this.#random() * key.moments.length)] ?? 0;
    try {
      await this.#signers.revoke(server, key, since);
      this.#revoked.add(key.kid);
      watch.isAnswered = true;
    } catch (error) {
      // The connection broke: nobody knows whether it was recorded.
      if (error instanceof RangeError) this.report.faults.push(error.message);
    }
  }

  /** Asks all the while: a swap under way must not show half a table. */
  async #watch(server: CrashServer, watch: Watch, before: number, startedAt: number) {
    try {
      while (!watch.isOver && !watch.isSwapped) {
        const seen = await witnessed(server);
        if (seen === before) continue;
        if (seen > before || (before - seen) % WITNESSED_PER_BATCH !== 0) {
          this.report.faults.push(`${seen} of ${before} outcomes: half a table`);
        }
        watch.isSwapped = true;
        this.#refoldMs = performance.now() - startedAt;
      }
    } catch {
      // Killed.
    }
  }

  #count(watch: Watch): void {
    if (watch.isSwapped) this.report.fell.swapped++;
    else if (watch.isAnswered) this.report.fell.refolding++;
    else this.report.fell.unanswered++;
  }

  /** The start replays up to the revocation and folds anew before it answers: killed there too. */
  async #killStart(): Promise<void> {
    const started = launchServer(this.#dataDir);
    let isListening = false;
    void started.firstLine.then(
      () => (isListening = true),
      () => undefined,
    );
    await wait((0.3 + this.#random()) * this.#startMs);
    if (!isListening) this.report.fell.starting++;
    started.process.kill("SIGKILL");
    await started.ended;
  }

  #follow(): void {
    const { faults } = this.report;
    faults.push(...this.#evidence.follow());
    faults.push(...this.#evidence.missing(this.#writers.acknowledged));
    faults.push(...this.#evidence.missing(this.#signers.acknowledged));
    faults.push(...this.#writers.broken);
    for (const kid of this.#revoked) {
      if (!this.#evidence.keys.isRevoked(kid)) faults.push(`the revocation of ${kid} was lost`);
    }
    const { size } = this.#writers.acknowledged;
    this.report.acknowledged = size + this.#signers.acknowledged.size;
  }
}

async function witnessed(server: CrashServer): Promise<number> {
  const { body } = await server.get(`/v1/agents/${encodeURIComponent(WITNESS)}`);
  return (body as AgentExplanation).evidence.outcomes;
}

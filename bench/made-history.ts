// Made-up history of any size in a journal, for the benches of what reads it back: a market whose
// agents have a lasting quality and whose reporters have a lasting severity.
import type { OutcomeRecord } from "../src/journal/records.ts";
import { createSeededRandom } from "../src/kaizen/model/bootstrap.ts";
import type { OpenLedger } from "../src/ledger/client.ts";

const DAY_MS = 86_400_000;
const DAYS = 365;
const BATCH = 20_000;
const COUNTERPARTY = 3;

/** Outcomes of agents with lasting quality and reporters of lasting severity. */
function* outcomesOf(count: number, nowMs: number, agents: number): Generator<OutcomeRecord[]> {
  const random = createSeededRandom(1);
  const quality = Float64Array.from({ length: agents }, () => -2.5 + 1.4 * random.normal());
  const severity = Float64Array.from({ length: agents }, () => 0.6 * random.normal());
  let batch: OutcomeRecord[] = [];
  for (let i = 0; i < count; i++) {
    const subject = Math.floor(agents * random.uniform() ** 2);
    const reporter = Math.floor(agents * random.uniform() ** 2);
    const settledAtMs = nowMs - DAYS * DAY_MS + Math.floor((i / count) * DAYS * DAY_MS);
    const p = 1 / (1 + Math.exp(-(quality[subject]! + severity[reporter]!)));
    batch.push({
      outcomeId: `00000000-0000-7000-8000-${String(i).padStart(12, "0")}`,
      idempotencyKey: "",
      subject: `agent://made/${subject}`,
      reporter: `agent://voice/${reporter}`,
      outcome: random.uniform() < p ? 0 : 1,
      stakes: 1 + Math.floor(random.uniform() * 10),
      gradeIndex: COUNTERPARTY,
      signature: "bureau",
      settledAtMs,
      recordedAtMs: settledAtMs,
      isAgentFault: true,
      tenant: "bench",
      action: "",
      requestId: "",
      source: "import:bench",
      body: new Uint8Array(0),
    });
    if (batch.length < BATCH && i < count - 1) continue;
    yield batch;
    batch = [];
  }
}

/** Journals `count` outcomes of the year before `nowMs`, the same ones each time. */
export async function fillJournal(
  ledger: OpenLedger,
  count: number,
  nowMs: number,
  agents: number = Math.ceil(count / 20),
): Promise<void> {
  let done = 0;
  for (const batch of outcomesOf(count, nowMs, agents)) {
    await ledger.appendBatch(batch);
    done += batch.length;
    if (done % 200_000 === 0) process.stderr.write(`journaled ${done} of ${count}\n`);
  }
}

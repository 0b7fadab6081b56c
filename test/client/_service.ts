// Real service on a loopback port for the client's and the gateways' tests: real server, keyring
// and engine over the sample history, a clock fixed at the history's newest moment.
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import type { Bureau } from "../../src/bureau/bureau.ts";
import { ReviewDecisionCache } from "../../src/bureau/reviews/decision-cache.ts";
import type { OutcomeReceipt } from "../../src/contract/schemas/outcomes.ts";
import { GRADES } from "../../src/contract/vocabulary.ts";
import { startHttpServer } from "../../src/http/start.ts";
import { openKeyring } from "../../src/http/access/keyring.ts";
import type { Ledger } from "../../src/ledger/ledger.ts";
import { NEWEST_MS, openSampleBureau } from "../bureau/_harness.ts";
import { notesTo, RowStore } from "../http/_row-store.ts";
import { unhurriedClock } from "../_patience.ts";

export interface Reported {
  subject: string;
  reporter: string;
  outcome: number;
  stakes: number;
  grade: string;
  id: string;
  requestId: string;
  isAgentFault: boolean;
}

export interface Service {
  readonly baseUrl: string;
  readonly apiKey: string;
  readonly shadowKey: string;
  readonly port: number;
  readonly bureau: Bureau;
  /** What was reported, as the ledger got it. */
  readonly appended: Reported[];
  /** A further key of the same tenant. */
  createKey(scopes: ("score:read" | "outcomes:write")[]): Promise<string>;
  stop(): Promise<void>;
}

/** Starts the service; reserved test agents answer, outcomes are receipted from memory. */
export async function startTestService(): Promise<Service> {
  const dataDir = await mkdtemp(path.join(tmpdir(), "trustrank-client-"));
  const now = () => NEWEST_MS;
  const keyring = await openKeyring({ dataDir, now });
  const scopes: ("score:read" | "outcomes:write")[] = ["score:read", "outcomes:write"];
  const { key: apiKey } = await keyring.create({ tenant: "acme", scopes });
  const { key: shadowKey } = await keyring.create({ tenant: "acme", scopes, isShadow: true });
  const appended: Reported[] = [];
  const { bureau } = openSampleBureau({
    ledger: memoryLedger(appended),
    // What waits for a person names its review, as in the whole service.
    reviews: new ReviewDecisionCache(() => undefined),
  });
  const quiet = () => undefined;
  const server = await startHttpServer({
    adapter: "auto",
    host: "127.0.0.1",
    port: 0,
    bureau,
    keyring,
    store: new RowStore(),
    notes: notesTo(undefined),
    clock: now,
    logger: { info: quiet, warn: quiet, error: quiet },
    health: { isReady: () => ({ ready: true, reasons: [] }) },
    version: "0.0.0-test",
    monotonic: unhurriedClock(),
  });
  return {
    baseUrl: `http://127.0.0.1:${server.port}`,
    apiKey,
    shadowKey,
    port: server.port,
    bureau,
    appended,
    createKey: async (own) => (await keyring.create({ tenant: "acme", scopes: own })).key,
    async stop() {
      await server.close(1000);
      await rm(dataDir, { recursive: true, force: true });
    },
  };
}

/** Receipts by idempotency key, as the real ledger gives them; nothing is kept on a disk. */
function memoryLedger(appended: Reported[]): Ledger {
  const receipts = new Map<string, OutcomeReceipt>();
  const ledger: Pick<Ledger, "append" | "pendingCount" | "close"> = {
    append: (record) => {
      const { idempotencyKey: key, outcomeId, subject, reporter, outcome, stakes } = record;
      const { requestId, isAgentFault } = record;
      const known = receipts.get(key);
      if (key !== "" && known !== undefined) return Promise.resolve({ ...known, duplicate: true });
      const grade = GRADES[record.gradeIndex] ?? "";
      const id = key.slice(key.lastIndexOf("\n") + 1);
      appended.push({ subject, reporter, outcome, stakes, grade, id, requestId, isAgentFault });
      const receipt: OutcomeReceipt = {
        outcome_id: outcomeId,
        position: appended.length,
        recorded_at: new Date(NEWEST_MS).toISOString(),
        duplicate: false,
        signature: "none",
      };
      receipts.set(key, receipt);
      return Promise.resolve(receipt);
    },
    pendingCount: 0,
    close: () => Promise.resolve(),
  };
  // Outcomes are all that clients send: the rest of the port is not reached from here.
  return ledger as Ledger;
}

// Loads the sample that an empty data directory starts with: four months of outcomes, and a week of requests,
// reviews, disputes, sources and notes. Each request goes through the bureau at its own time, on the outcomes
// that had settled by then, so that verdicts, reviews and decisions are computed and not stored.
import { randomFillSync } from "node:crypto";
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import type { Bureau } from "../bureau/bureau.ts";
import { openBureau } from "../bureau/open.ts";
import { ReviewDecisionCache } from "../bureau/reviews/decision-cache.ts";
import { ReviewQueue } from "../bureau/reviews/queue.ts";
import type { DecisionLog } from "../contract/decisions.ts";
import { ServiceFault } from "../contract/faults.ts";
import { BATCH_ITEMS_MAX } from "../contract/limits.ts";
import * as requests from "../contract/parse/requests.ts";
import { parseReviewDecision } from "../contract/parse/reviews.ts";
import type { OutcomeRequest } from "../contract/schemas/outcomes.ts";
import { EvidenceItem } from "../contract/schemas/sources.ts";
import { createParser } from "../contract/parse/parser.ts";
import { DAY_MS } from "../contract/units.ts";
import type { ReviewLevel } from "../contract/vocabulary.ts";
import { UuidV7Generator } from "../platform/uuid.ts";
import type { ServiceCore } from "./core.ts";
import { createLocalImportSink, OPERATOR_CALL } from "./import/local-sink.ts";
import { readOutcomes } from "./import/read-outcomes.ts";

const resolvePath = (file: string) =>
  fileURLToPath(new URL(`../../data/sample/${file}`, import.meta.url));
const SOURCE = "import:outcomes.ndjson";
/** Requests within so many ms are answered from the same outcomes: every step syncs the journal. */
const STEP_MS = DAY_MS / 2;
const CALLER = { ...OPERATOR_CALL.principal, keyId: "sample" };
const PARTY = { tenant: CALLER.tenant, keyId: CALLER.keyId, isAdmin: true };

type DatedOutcome = OutcomeRequest & { settled_at: number };

/** Times are shifted so that the newest of all is `nowMs`: old evidence would have almost no weight. */
function readSampleOutcomes(
  nowMs: number,
  sampleRequests: readonly SampleRequest[],
): { outcomes: DatedOutcome[]; shiftMs: number } {
  const outcomes: DatedOutcome[] = [];
  for (const { outcome, line } of readOutcomes(resolvePath("outcomes.ndjson"), "ndjson", "")) {
    if (outcome instanceof ServiceFault) throw outcome;
    outcomes.push({ ...outcome, id: `sample:${line}`, settled_at: outcome.settled_at! });
  }
  const lastMs = Date.parse(sampleRequests.at(-1)!.at);
  const shiftMs = nowMs - Math.max(lastMs, outcomes.at(-1)!.settled_at);
  for (const outcome of outcomes) outcome.settled_at += shiftMs;
  return { outcomes, shiftMs };
}

/** Imports outcomes in order of time, up to a moment at a time. */
class SampleImport {
  readonly shiftMs: number;
  readonly #outcomes: readonly DatedOutcome[];
  readonly #bureau: Bureau;
  #imported = 0;

  constructor(bureau: Bureau, nowMs: number, sampleRequests: readonly SampleRequest[]) {
    const { outcomes, shiftMs } = readSampleOutcomes(nowMs, sampleRequests);
    this.#bureau = bureau;
    this.#outcomes = outcomes;
    this.shiftMs = shiftMs;
  }

  get count(): number {
    return this.#imported;
  }

  /** @throws Error when one is rejected. */
  async importUpTo(timeMs: number): Promise<void> {
    const sink = createLocalImportSink(this.#bureau);
    const end = this.#outcomes.findIndex(({ settled_at: atMs }) => atMs > timeMs);
    const to = end < 0 ? this.#outcomes.length : end;
    while (this.#imported < to) {
      const batch = this.#outcomes.slice(
        this.#imported,
        Math.min(to, this.#imported + BATCH_ITEMS_MAX),
      );
      const { rejected } = await sink(batch, SOURCE);
      if (rejected.length > 0) throw new Error(`the sample is damaged: ${rejected[0]!.detail}`);
      this.#imported += batch.length;
    }
  }
}

/** Imports the outcomes alone; returns their number. */
export async function importSampleHistory(bureau: Bureau, nowMs: number): Promise<number> {
  const history = new SampleImport(bureau, nowMs, readSampleRequests());
  await history.importUpTo(nowMs);
  return history.count;
}

interface SampleRequest {
  readonly at: string;
  readonly do: "verify" | "check" | "handshake" | "decide" | "dispute" | "source" | "note";
  readonly agent?: string;
  readonly level?: ReviewLevel;
  readonly holdsDays?: number;
  readonly body: Record<string, unknown>;
}

export interface SampleTarget {
  readonly core: ServiceCore;
  readonly decisions: DecisionLog;
}

const parseItem = createParser(EvidenceItem);

/** Answers requests of the past: a bureau and a review queue whose clock stands at the request's time. */
class SampleReplay {
  #nowMs = 0;
  #count = 0;
  readonly #core: ServiceCore;
  readonly #bureau: Bureau;
  readonly #reviews: ReviewQueue;

  constructor({ core, decisions }: SampleTarget) {
    const clock = () => this.#nowMs;
    this.#core = core;
    const desk = new ReviewDecisionCache((asked) => this.#reviews.addCalls(asked));
    this.#reviews = new ReviewQueue({
      log: core.ledger,
      book: core.reviews.book,
      clock,
      onUpdate: (news) => {
        desk.apply(news);
        core.reviewDesk.apply(news);
      },
    });
    const { engine, ledger, policies, assessments, registry } = core;
    const provenance = core.sources.assessor;
    const environment = {
      delay: () => Promise.resolve(),
      outcomeIds: new UuidV7Generator(randomFillSync),
      isReservedEnabled: false,
    };
    const parts = { engine, ledger, events: ledger, policies, assessments, registry, provenance };
    this.#bureau = openBureau({ ...parts, environment, clock, decisions, reviews: desk });
  }

  /** Does it at `atMs`. @throws ServiceFault as the route would answer. */
  async run(request: SampleRequest, atMs: number): Promise<void> {
    this.#nowMs = atMs;
    const call = { requestId: `sample-${(this.#count += 1)}`, principal: CALLER };
    const { body } = request;
    if (request.do === "verify") {
      await this.#bureau.verify(requests.parseVerifyRequest(body), call);
    } else if (request.do === "check") {
      await this.#bureau.check(requests.parseCheckRequest(body), call);
    } else if (request.do === "handshake") {
      await this.#bureau.handshake(requests.parseHandshakeRequest(body), call);
    } else if (request.do === "source") {
      await this.#core.sources.vault.register([parseItem(body)], PARTY);
    } else if (request.do === "note") {
      const record = requests.parseProvenanceRecord(body);
      const { tenant } = CALLER;
      const note = { ...record, recorded_at: atMs, tenant, request_id: record.request_id ?? null };
      await this.#core.notes.recordNote("provenance", note);
    } else await this.#changeReviews(request, call.requestId);
  }

  async #changeReviews(
    { do: kind, agent = "", level = "L2", holdsDays, body }: SampleRequest,
    requestId: string,
  ): Promise<void> {
    if (kind === "dispute") {
      const about = { tenant: CALLER.tenant, agent, level, requestId, stakes: 0, reason: "" };
      const said = body as { statement: string; contact: string };
      const dispute = { ...said, request_id: null, actor: CALLER.keyId, by_link: false };
      await this.#reviews.openDispute(about, dispute);
      return;
    }
    await this.#reviews.flush();
    const open = [...this.#reviews.listReviews()].find(
      (review) => review.agent === agent && review.level === level && review.decision === null,
    );
    if (open === undefined) throw new Error(`the sample is damaged: no review of ${agent} is open`);
    const until = holdsDays === undefined ? {} : { until: this.#nowMs + holdsDays * DAY_MS };
    const decision = parseReviewDecision({ ...body, ...until });
    await this.#reviews.decide(open.id, undefined, decision, CALLER);
  }

  /** Makes the counted calls of reviews durable. */
  flush(): Promise<void> {
    return this.#reviews.flush();
  }
}

function readSampleRequests(): SampleRequest[] {
  const lines = readFileSync(resolvePath("requests.ndjson"), "utf8").trimEnd().split("\n");
  return lines.map((line) => JSON.parse(line) as SampleRequest);
}

/**
 * Loads all of the sample into an empty data directory; returns the number of outcomes.
 * @param nowMs time of the newest outcome or request, epoch ms.
 * @throws ServiceFault when the journal cannot take it.
 */
export async function loadSample(target: SampleTarget, nowMs: number): Promise<number> {
  const sampleRequests = readSampleRequests();
  const history = new SampleImport(target.core.bureau, nowMs, sampleRequests);
  const replay = new SampleReplay(target);
  let stepToMs = 0;
  for (const request of sampleRequests) {
    const atMs = Date.parse(request.at) + history.shiftMs;
    if (atMs >= stepToMs) {
      await history.importUpTo(atMs);
      stepToMs = atMs + STEP_MS;
    }
    await replay.run(request, atMs);
  }
  await history.importUpTo(nowMs);
  await replay.flush();
  return history.count;
}

// `trustrank reviews list | show | claim | decide`: agents that are held back until a person has looked.
// Works on the files when no server holds them; otherwise the server takes it, at once.
import { parseReviewClaim, parseReviewDecision } from "../../contract/parse/reviews.ts";
import type { StoredReview } from "../../contract/reviews/book.ts";
import { describeReview } from "../../contract/reviews/description.ts";
import type { ReviewDecision } from "../../contract/vocabulary.ts";
import type { QueuedReview } from "../../contract/schemas/reviews.ts";
import { selectReviewPage } from "../../http/routes/reviews.ts";
import type { ServiceCore } from "../../service/core.ts";
import { OPERATOR_CALL } from "../../service/import/local-sink.ts";
import { type DataAccess, runOnFilesOrServer } from "../data-access.ts";
import { withCoreOnFiles } from "../file-core.ts";
import { printNote, print, printJson, printTable, type OutputFlags } from "../output.ts";

interface ListFlags extends OutputFlags {
  readonly state?: string;
  readonly agent?: string;
  readonly level?: string;
  readonly limit?: number;
  readonly after?: string;
}

interface ClaimFlags extends OutputFlags {
  readonly who?: string;
  /** Seconds. */
  readonly lease?: number;
}

interface DecisionFlags extends OutputFlags {
  readonly who?: string;
  /** Epoch ms. */
  readonly until?: number;
  readonly maxStakes?: string;
  readonly note?: string;
  readonly again?: boolean;
}

interface QueuedReviewPage {
  readonly reviews: readonly QueuedReview[];
  readonly next: string | null;
}

const COLUMNS = [
  "id",
  "state",
  "agent",
  "level",
  "calls",
  "stakes",
  "opened",
  "reason",
  "decision",
];
const { principal: operator } = OPERATOR_CALL;

/** The queue, oldest first; what waits unless a state is named. */
export async function listReviews(access: DataAccess, flags: ListFlags): Promise<void> {
  const { json, state = "open", ...rest } = flags;
  const query = new URLSearchParams({ state });
  for (const name of ["agent", "level", "limit", "after"] as const) {
    const value = rest[name];
    if (value !== undefined) query.set(name, String(value));
  }
  const page = await runOnFilesOrServer<QueuedReviewPage>(
    access,
    (dataDir) =>
      withCoreOnFiles(dataDir, async ({ reviews }) => {
        const nowMs = Date.now();
        const found = selectReviewPage(reviews.listReviews(), query, undefined, nowMs);
        const described = found.reviews.map((review) => describeReview(review, nowMs));
        return { reviews: described, next: found.next };
      }),
    (client) => client.sendJson("GET", `/v1/reviews?${query.toString()}`),
  );
  if (json === true) return printJson(page);
  printTable(COLUMNS, page.reviews.map(formatReviewCells));
  if (page.next !== null) printNote(`there are more: --after ${page.next}`);
}

/** One review with all that is known of it. */
export async function showReview(
  access: DataAccess,
  id: string,
  flags: OutputFlags,
): Promise<void> {
  const review = await runOnFilesOrServer<QueuedReview>(
    access,
    (dataDir) => describeReviewOnFiles(dataDir, ({ reviews }) => reviews.find(id, undefined)),
    (client) => client.sendJson("GET", buildReviewRoute(id)),
  );
  printReview(review, flags);
}

/** Keeps others from deciding for a while. */
export async function claimReview(
  access: DataAccess,
  id: string,
  flags: ClaimFlags,
): Promise<void> {
  const { who, lease } = flags;
  const request = {
    ...(who === undefined ? {} : { who }),
    ...(lease === undefined ? {} : { lease_sec: lease }),
  };
  const review = await runOnFilesOrServer<QueuedReview>(
    access,
    (dataDir) =>
      describeReviewOnFiles(dataDir, ({ reviews }) =>
        reviews.claim(id, undefined, parseReviewClaim(request), operator),
      ),
    (client) => client.sendJson("POST", `${buildReviewRoute(id)}/claim`, request),
  );
  printReview(review, flags);
}

/** Decides; a running service goes by it from the next request on. */
export async function decideReview(
  access: DataAccess,
  id: string,
  decision: ReviewDecision,
  flags: DecisionFlags,
): Promise<void> {
  const { who, until, maxStakes, note: text, again } = flags;
  const request = {
    decision,
    ...(who === undefined ? {} : { who }),
    ...(until === undefined ? {} : { until }),
    ...(maxStakes === undefined
      ? {}
      : { max_stakes: maxStakes === "any" ? "any" : Number(maxStakes) }),
    ...(text === undefined ? {} : { note: text }),
    ...(again === undefined ? {} : { again }),
  };
  const review = await runOnFilesOrServer<QueuedReview>(
    access,
    (dataDir) =>
      describeReviewOnFiles(dataDir, ({ reviews }) =>
        reviews.decide(id, undefined, parseReviewDecision(request), operator),
      ),
    (client) => client.sendJson("POST", `${buildReviewRoute(id)}/decision`, request),
  );
  printReview(review, flags);
}

function buildReviewRoute(id: string): string {
  return `/v1/reviews/${encodeURIComponent(id)}`;
}

function printReview(review: QueuedReview, { json }: OutputFlags): void {
  if (json === true) return printJson(review);
  for (const [name, value] of Object.entries(review)) {
    if (value === null) continue;
    const text = typeof value === "object" ? JSON.stringify(value) : String(value);
    print(`${name.padEnd(18)}${text}`);
  }
}

function formatReviewCells(review: QueuedReview): unknown[] {
  const { id, state, agent, level, count, stakes_max: stakes, opened_at: opened } = review;
  return [id, state, agent, level, count, stakes, opened, review.reason, review.decision ?? ""];
}

async function describeReviewOnFiles(
  dataDir: string,
  run: (core: ServiceCore) => Promise<StoredReview>,
): Promise<QueuedReview> {
  return describeReview(await withCoreOnFiles(dataDir, run), Date.now());
}

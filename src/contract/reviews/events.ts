// Reviews: agents that are held back until a person has looked. One review for each tenant, agent,
// level and day, however often the agent asks; the journal has these events of it, kind `reviewEvent`.
import { DAY_MS } from "../units.ts";
import { createHash } from "node:crypto";
import type { ReviewDecision, ReviewLevel } from "../vocabulary.ts";
import type { Dispute } from "./disputes.ts";

/** Bytes of the name of the person who claims or decides. */
export const REVIEWER_BYTES_MAX = 128;
/** Seconds for which a claim keeps others from deciding. */
export const REVIEW_LEASE_SEC_MAX = 86_400;
export const REVIEW_LEASE_SEC_DEFAULT = 900;
/** Seconds that a reader may wait for the decision. */
export const REVIEW_WAIT_SEC_MAX = 60;

/** A decision holds for at most so long, and an upheld one that names no expiry for a day. */
export const REVIEW_DECISION_MS_MAX = 90 * DAY_MS;
export const REVIEW_UPHELD_MS_DEFAULT = DAY_MS;
/** A review is kept for so long after it last changed, was asked about or was in force. */
export const REVIEW_RETENTION_MS = 30 * DAY_MS;
/** Undecided reviews of one tenant, and of all. */
export const REVIEWS_PER_TENANT_MAX = 10_000;
export const REVIEWS_MAX = 50_000;

/** Which review: everything that its id follows from. */
export interface ReviewKey {
  readonly tenant: string;
  readonly agent: string;
  readonly level: ReviewLevel;
  /** UTC day, such as `2026-01-31`. */
  readonly day: string;
  /** 0 for the first of the day; a decided one is followed by the next. */
  readonly round: number;
}

/** The calls that a review stands for, as one thread has counted them since it last told. */
export interface ReviewCalls extends ReviewKey {
  readonly id: string;
  readonly reason: string;
  readonly count: number;
  readonly first_request_id: string;
  readonly first_stakes: number;
  readonly first_ms: number;
  readonly last_request_id: string;
  readonly last_stakes: number;
  readonly last_ms: number;
  readonly stakes_max: number;
}

/** Journal payloads, as JSON. Times are epoch ms. */
export interface ReviewOpenedEvent extends ReviewCalls {
  readonly event: "review.opened";
  readonly at_ms: number;
  /** Of a review that was asked for, not opened by a call. */
  readonly dispute?: Dispute | undefined;
}

/** Further calls of many reviews. */
export interface ReviewCountedEvent {
  readonly event: "review.counted";
  readonly at_ms: number;
  readonly reviews: readonly Pick<
    ReviewCalls,
    "id" | "count" | "last_request_id" | "last_stakes" | "last_ms" | "stakes_max"
  >[];
}

interface ReviewerEvent extends ReviewKey {
  readonly id: string;
  readonly at_ms: number;
  /** The person. */
  readonly who: string;
  /** Id of the API key that did it. */
  readonly actor: string;
  /** `Principal.via`; left out for a key. */
  readonly via?: string;
  readonly until_ms: number;
}

export interface ReviewClaimedEvent extends ReviewerEvent {
  readonly event: "review.claimed";
}

export interface ReviewDecidedEvent extends ReviewerEvent {
  readonly event: "review.decided";
  readonly decision: ReviewDecision;
  readonly note: string | null;
  /** Overturned: up to these stakes; null for any. */
  readonly max_stakes: number | null;
}

export type ReviewEvent =
  | ReviewOpenedEvent
  | ReviewCountedEvent
  | ReviewClaimedEvent
  | ReviewDecidedEvent;

/** What people have decided on a subject, as every deciding thread is told. */
export interface ReviewRuling extends ReviewKey {
  readonly decision: ReviewDecision;
  readonly until_ms: number;
  readonly max_stakes: number | null;
}

/** News for the deciding threads; `isFull`: no further review of the tenant can be opened. */
export type ReviewUpdate =
  | { readonly ruling: ReviewRuling }
  | { readonly tenant: string; readonly isFull: boolean };

/** UTC day of a time. */
export function formatReviewDay(atMs: number): string {
  return new Date(atMs).toISOString().slice(0, 10);
}

const REVIEW_ID_PATTERN = /^rv-[0-9]{8}-[0-9a-f]{24}$/;

/**
 * The id follows from what the review is about: every thread names the same review without asking
 * another, and a review that a crash has lost comes back under its id.
 */
export function deriveReviewId({ tenant, agent, level, day, round }: ReviewKey): string {
  const text = JSON.stringify([tenant, agent, level, day, round]);
  const digest = createHash("sha256").update(text).digest("hex");
  return `rv-${day.replaceAll("-", "")}-${digest.slice(0, 24)}`;
}

export function isReviewId(text: string): boolean {
  return REVIEW_ID_PATTERN.test(text);
}

/** One word for the tenant, agent and level of a review, whatever the day. */
export function buildReviewSubject({
  tenant,
  agent,
  level,
}: Omit<ReviewKey, "day" | "round">): string {
  return `${level} ${tenant}\n${agent}`;
}

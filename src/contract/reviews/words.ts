// Words of the review queue, also for the client: levels, states, decisions.
import { TOOL_LEVELS } from "../vocabulary.ts";

/** What was asked: verify at a tool level, or a connection (check, handshake), which names none. */
export const REVIEW_LEVELS = [...TOOL_LEVELS, "connect"] as const;
export type ReviewLevel = (typeof REVIEW_LEVELS)[number];

/** `claimed`: a person is at it, for as long as the lease runs. */
export const REVIEW_STATES = ["open", "claimed", "decided"] as const;
export type ReviewState = (typeof REVIEW_STATES)[number];

/** `upheld`: it stays held back. `overturned`: it is let through. Both until an expiry. */
export const REVIEW_DECISIONS = ["overturned", "upheld"] as const;
export type ReviewDecision = (typeof REVIEW_DECISIONS)[number];

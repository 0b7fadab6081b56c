// The two sides that are fitted and judged apart: what a check asks of an agent, and what a handshake
// asks of both. A file of its own, because those who keep runs need no gate and no fit.

export const SCORECARD_SIDES = ["check", "handshake"] as const;
export type ScorecardSide = (typeof SCORECARD_SIDES)[number];

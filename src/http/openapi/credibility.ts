// JSON Schemas of the routes of reporters' credibility.
import { flag, integer, number, object, type Schema, text, time } from "./parts.ts";

const figures = object({
  reporters: integer,
  seeds: integer,
  believed: integer,
  believed_share: { type: "number", minimum: 0, maximum: 1 },
  clusters: integer,
  discounted: integer,
  stakes_high: number,
  changed: integer,
});

const batch = object(
  { at: time, position: integer, records: integer, reason: text, duration_ms: number },
  { figures },
);

export const CREDIBILITY_SCHEMAS: Record<string, Schema> = {
  CredibilityBatch: batch,
  CredibilityStatus: object(
    { is_wanted: flag, has_seeds: flag, in_force: flag, is_running: flag },
    { last: batch },
  ),
};

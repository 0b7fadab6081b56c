// JSON Schemas of kaizen's routes.
import { integer, list, object, oneOf, type Schema, text, time } from "./parts.ts";

const flag: Schema = { type: "boolean" };
const state = oneOf(["running", "kept", "promoted", "dry_run", "failed"]);
const summary = {
  started_at: time,
  started_by: text,
  finished_at: time,
  champion_version: text,
  challenger_version: text,
  rolled_back: object({ at: time, reason: text }),
  reason: text,
  rows: integer,
  position: integer,
  duration_ms: integer,
};

/** The newest look at a promotion, by scorecard that it changed. */
const watch: Schema = object({
  at: time,
  sides: list(
    object({
      side: oneOf(["check", "handshake"]),
      rollback_due: flag,
      numbers: { type: "object" },
      sentence: text,
    }),
  ),
});

export const KAIZEN_SCHEMAS: Record<string, Schema> = {
  KaizenRunRequest: {
    ...object(
      {},
      {
        dry_run: flag,
        holdout_days: { type: "number", minimum: 1, maximum: 365 },
        sign_off: flag,
        wait: flag,
      },
    ),
    additionalProperties: false,
  },
  KaizenRun: object({ run_id: text, state }, { ...summary, findings: { type: "object" }, watch }),
  KaizenRuns: object(
    {
      config_version: text,
      cool_down_runs: integer,
      runs: list(object({ run_id: text, state }, summary)),
    },
    {
      promoted_by: text,
      promoted_at: time,
      watch,
      running: object({ run_id: text, stage: text, share: { type: "number" } }),
      next_run_at: time,
    },
  ),
  KaizenRollbackRequest: {
    ...object({}, { reason: { type: "string", maxLength: 500 } }),
    additionalProperties: false,
  },
  KaizenRollback: object({ config_version: text, run_id: text }),
};

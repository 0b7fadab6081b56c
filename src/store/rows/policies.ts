// Policies as rows, one for each that was journaled, and the view over them.
import { TOOL_LEVELS } from "../../contract/vocabulary.ts";
import type { ViewDefinition } from "../view.ts";

/** A policy that was activated. */
export interface PolicyRow {
  tenant: string;
  version: string;
  setBy: string;
  setAtMs: number;
  /** The whole policy, as JSON. */
  policy: string;
  /** Null for none given. */
  reason: string | null;
}

export function buildPolicyTableSql(): string[] {
  return [
    `CREATE TABLE policy_rows (position BIGINT NOT NULL, set_at TIMESTAMP NOT NULL,
      tenant VARCHAR NOT NULL, version VARCHAR NOT NULL, set_by VARCHAR NOT NULL,
      policy JSON NOT NULL, reason VARCHAR)`,
  ];
}

const buildBoundColumn = (level: string) =>
  `CAST(policy->>'$.levels.${level}.allow_up_to' AS DOUBLE) AS ${level.toLowerCase()}_allow_up_to`;

export const POLICY_VIEWS: Readonly<Record<string, ViewDefinition>> = {
  policies: {
    sql: (from) => `SELECT tenant, version, set_at,
        lead(set_at) OVER (PARTITION BY tenant ORDER BY position) AS replaced_at,
        row_number() OVER (PARTITION BY tenant ORDER BY position DESC) = 1 AS in_force,
        set_by, ${TOOL_LEVELS.map(buildBoundColumn).join(", ")}, policy, position, reason
      FROM ${from("policy_rows")}`,
    comment:
      "every policy that was set; a tenant that has set none is judged by the shipped one, and has " +
      "no row",
    columns: [
      ["tenant", "whose policy it is"],
      ["version", "as answers and decisions name it"],
      ["set_at", "when it was put in force, UTC"],
      ["replaced_at", "when the next one was, UTC; null for the one in force"],
      ["in_force", "whether it holds now"],
      ["set_by", "API key that set it"],
      ...TOOL_LEVELS.map(
        (level) =>
          [
            `${level.toLowerCase()}_allow_up_to`,
            `failure probability up to which ${level} allows, 0 to 1`,
          ] as const,
      ),
      ["policy", "the whole policy, as JSON"],
      ["position", "its record in the evidence journal"],
      ["reason", "why, in the words of who set it, or null"],
    ],
  },
};

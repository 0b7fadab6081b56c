// Rows of assessments: which agents' texts failed for certain when the operator's own keys asked.
import { ASSESSMENT_KINDS, type Assessment } from "../../contract/assessments.ts";
import type { RowAppender } from "../duckdb.ts";
import type { ViewDefinition } from "../view.ts";

export const ASSESSMENT_TABLE = `CREATE TABLE assessment_rows (position BIGINT NOT NULL,
  assessed_at TIMESTAMP NOT NULL, tenant VARCHAR NOT NULL, key_id VARCHAR NOT NULL,
  agent VARCHAR NOT NULL, code VARCHAR NOT NULL, feature VARCHAR NOT NULL,
  content_sha256 VARCHAR NOT NULL)`;

/** Appends the columns of one row; the caller ends it. */
export function writeAssessment(
  appender: RowAppender,
  position: number,
  { assessedAtMs, tenant, keyId, agent, code, kindIndex, digest }: Assessment,
): void {
  appender.appendBigInt(BigInt(position));
  appender.appendInstant(assessedAtMs);
  for (const text of [tenant, keyId, agent, code, ASSESSMENT_KINDS[kindIndex]!, digest]) {
    appender.appendVarchar(text);
  }
}

export const ASSESSMENT_VIEW: ViewDefinition = {
  sql: (from) => `SELECT assessed_at, tenant, key_id, agent, code, feature, content_sha256, position
    FROM ${from("assessment_rows")}`,
  comment: "texts of agents that failed for certain when a first-party key asked, each once",
  columns: [
    ["assessed_at", "when the verdict was given, UTC"],
    ["tenant", "tenant of the asking key"],
    ["key_id", "API key that asked"],
    ["agent", "the agent whose text it was"],
    ["code", "the finding, as in reason_codes"],
    ["feature", "what it counts towards: hallucination or unverified"],
    ["content_sha256", "SHA-256 of the text, hex; the text is not kept"],
    ["position", "its record in the evidence journal"],
  ],
};

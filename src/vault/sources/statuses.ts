// Statuses of a cited source: which outweighs which.
import { SOURCE_STATUSES as STATUSES } from "../../contract/vocabulary.ts";
import type { SourceStatus } from "../../contract/vocabulary.ts";
import { NOT_FOUND } from "./catalogue.ts";
import type { IdentifierValidity } from "./publication-ids.ts";

export type CitedStatus = SourceStatus;

export interface CitedSource {
  id: string;
  status: CitedStatus;
  /** Its entry in the catalogue; -1 when it is unknown or does not count. */
  number: number;
  /** Number of its index, -1 without text. */
  document: number;
  /** Number from 0 of the sentence that cites it by a marker and that it does not cover. */
  sentence?: number;
}

/** Status of an unregistered source, by the form of its identifier. */
export const STATUS_BY_VALIDITY: Readonly<Record<IdentifierValidity, CitedStatus>> = {
  valid: "SOURCE_UNKNOWN",
  doubtful: "SOURCE_DOUBTFUL",
  malformed: "SOURCE_MALFORMED",
};
export const UNREGISTERED_STATUSES: ReadonlySet<CitedStatus> = new Set([
  "SOURCE_UNKNOWN",
  "SOURCE_DOUBTFUL",
]);

/** Whether a status outweighs any finding on the text. */
export function isGraveStatus(status: CitedStatus): boolean {
  return STATUSES.indexOf(status) >= STATUSES.indexOf("CITATION_MISMATCH");
}

/** Whether a mismatch is certain: the source then does not count. */
export function isHardMismatch({ status, number }: CitedSource): boolean {
  return status === "CITATION_MISMATCH" && number === NOT_FOUND;
}

/** The gravest; of mismatches a hard one first. */
export function selectWorstCitation(cited: readonly CitedSource[]): CitedSource {
  const rank = (each: CitedSource) =>
    STATUSES.indexOf(each.status) + (isHardMismatch(each) ? 0.5 : 0);
  return cited.reduce((worst, each) => (rank(each) > rank(worst) ? each : worst));
}

/** One line for each source of an answer. */
export const listSourceStatuses = (cited: readonly CitedSource[]) =>
  cited.map(({ id, status }) => ({ id, status }));

// Positions in the change feed as text: a name of the journal and a position in it. Two services, or a
// service and the one that its data directory is restored into under another id, name different journals.
import { ServiceFault } from "../faults.ts";

const POSITION_PATTERN = /^([0-9a-f]{8})-(0|[1-9][0-9]{0,15})$/;

/** `journal` is 8 hexadecimal digits, `position` a journal position. */
export function formatChangePosition(journal: string, position: number): string {
  return `${journal}-${position}`;
}

/**
 * The journal and the position that `formatChangePosition` was given.
 * @throws ServiceFault `invalid_parameter`.
 */
export function parseChangePosition(text: string): { journal: string; position: number } {
  const [, journal, digits] = POSITION_PATTERN.exec(text) ?? [];
  const position = Number(digits);
  if (journal !== undefined && Number.isSafeInteger(position)) return { journal, position };
  const detail = "`since` must be a position as the feed returned it, such as `0a1b2c3d-42`";
  throw new ServiceFault("invalid_parameter", detail);
}

/**
 * `wait`: whole seconds; 0 when left out.
 * @throws ServiceFault `invalid_parameter`.
 */
export function parseChangeWaitSec(text: string | null): number {
  if (text === null) return 0;
  const seconds = /^\d{1,3}$/.test(text) ? Number(text) : Number.NaN;
  if (seconds <= CHANGE_WAIT_SEC_MAX) return seconds;
  const detail = `\`wait\` must be whole seconds, 0 to ${CHANGE_WAIT_SEC_MAX}`;
  throw new ServiceFault("invalid_parameter", detail);
}

/** Longest long poll of the change feed, seconds. */
export const CHANGE_WAIT_SEC_MAX = 60;

// The record of a run that begins, and runs as of an earlier time: a look at what kaizen would have found then. Such a run knows neither
// what came in later nor later weights, spends no evidence and changes nothing.
import { invalidRequest } from "../../contract/faults.ts";
import type { Champion } from "./champion.ts";
import type { KaizenState } from "./files.ts";
import type { RunRecord, RunRequest } from "../kaizen.ts";

/** Which evidence had been in a test by then is not on record. */
const NOTHING_TESTED_MS = { check: 0, handshake: 0 };

/** Evidence that a run may not test again: of an earlier time that is not known any more. */
export function selectTestedToMs<Tested>(asOfMs: number | undefined, tested: Tested) {
  return asOfMs === undefined ? tested : NOTHING_TESTED_MS;
}

/** The time in the record of a run; nothing for a run as of now. */
function buildAsOfMember({ asOfMs }: RunRequest): Pick<RunRecord, "as_of"> {
  return asOfMs === undefined ? {} : { as_of: new Date(asOfMs).toISOString() };
}

/** @throws ServiceFault `invalid_request` for a time that has not come. */
export function assertAsOfPast({ asOfMs }: RunRequest, nowMs: number): void {
  if (asOfMs === undefined || asOfMs <= nowMs) return;
  throw invalidRequest([{ pointer: "/as_of", code: "range", detail: "is in the future" }]);
}

/** The record of a run that begins now. */
export function createRunRecord(
  id: string,
  request: RunRequest,
  nowMs: number,
  championVersion: string,
  position: number,
): RunRecord {
  return {
    run_id: id,
    kind: request.kind ?? "full",
    state: "running",
    started_at: new Date(nowMs).toISOString(),
    started_by: request.startedBy,
    champion_version: championVersion,
    ...buildAsOfMember(request),
    reason: "under way",
    rows: 0,
    position,
  };
}

/** The weights that a run challenges: those live now, or at the time it runs as of. */
export function selectChallengedVersion(
  { state }: Pick<Champion, "state">,
  { asOfMs }: RunRequest,
): string {
  return asOfMs === undefined ? state.champion : findLiveVersionAt(state, asOfMs);
}

/** Version of the config that was live at a time, as far as promotions are on record. */
function findLiveVersionAt({ promotions, champion }: KaizenState, atMs: number): string {
  const live = promotions.findLast(
    ({ at_ms: sinceMs, rolled_back: back }) =>
      sinceMs <= atMs && (back === undefined || back.at_ms > atMs),
  );
  // An older one that was taken back since has left other weights than the newest made live.
  const left = promotions.flatMap(({ rolled_back: back }) =>
    back !== undefined && back.at_ms <= atMs && back.at_ms > (live?.at_ms ?? 0) ? [back] : [],
  );
  const newest = left.reduce<(typeof left)[number] | undefined>(
    (found, back) => (found === undefined || back.at_ms > found.at_ms ? back : found),
    undefined,
  );
  return newest?.left ?? live?.version ?? promotions[0]?.parent ?? champion;
}

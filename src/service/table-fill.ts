// Fill of the agent table for `doctor`: folds the journal into a table of the configured size, as a start
// would, and says how full it is and what found no room.
import { loadDefaultConfig } from "../engine/config.ts";
import { LiveTable } from "../engine/live-table.ts";
import { createEngineMemory } from "../engine/memory.ts";
import { OutcomeExclusions } from "../journal/exclusions.ts";
import { diskFileLayer } from "../platform/files.ts";
import { readFrameKind } from "../journal/format.ts";
import { JournalReader } from "../journal/reader.ts";
import { isRegistryKind } from "../journal/revoked-agents.ts";
import { WARNING_SHARE } from "../ledger/admission/admission.ts";
import { Refold } from "../ledger/refold.ts";
import { copyFramePayload } from "../ledger/state.ts";

/** Keys the index alone: any seed fills the table alike. */
const SEED = 1n;
const MEBIBYTE = 1024 * 1024;

export interface TableFill {
  readonly detail: string;
  /** Empty when nothing is to be done. */
  readonly advice: string;
  /** Records that found no room. */
  readonly overflow: number;
}

/**
 * Folds the records up to `lsn` into a table of at most so many bytes.
 * @throws JournalDamaged when one of them does not verify.
 */
export function measureTableFill(journal: string, lsn: number, bytesMax: number): TableFill {
  const table = new LiveTable(createEngineMemory(), loadDefaultConfig(), SEED, bytesMax);
  table.open(false);
  const everything = Number.POSITIVE_INFINITY;
  const exclusions = new OutcomeExclusions();
  const keys = new JournalReader(diskFileLayer, journal);
  keys.readRecords(0, lsn, everything, (bytes, at) => {
    if (isRegistryKind(readFrameKind(bytes, at)))
      exclusions.applyRegistryEvent(copyFramePayload(bytes, at));
  });
  keys.close();
  const target = {
    fold: table.fold.bind(table),
    foldAssessment: table.foldAssessment.bind(table),
    applyStandings: table.applyStandings.bind(table),
    markKeyRevoked: table.markKeyRevoked.bind(table),
    publish: () => undefined,
  };
  const reader = new JournalReader(diskFileLayer, journal);
  new Refold(reader, target, exclusions).foldSlice(lsn, everything);
  return describeTableFill(table, bytesMax);
}

function describeTableFill(table: LiveTable, bytesMax: number): TableFill {
  const { agents, pairs, overflow } = table;
  const mebibytes = Math.round(bytesMax / MEBIBYTE);
  const share = Math.floor(table.computeFillShare() * 100);
  const filled = `${agents} agents and ${pairs} pairs fill ${share} % of ${mebibytes} MiB`;
  const advice = "raise TRUSTRANK_TABLE_MB, or partition agents over processes";
  if (overflow > 0) {
    const detail = `${filled}; ${overflow} records of the journal find no room and do not count`;
    return { detail, advice, overflow };
  }
  return { detail: filled, advice: share < WARNING_SHARE * 100 ? "" : advice, overflow };
}

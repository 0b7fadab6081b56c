// A journal as the ledger writes it, without folding what goes in: histories for benches and tests.
import { loadBureauKey } from "../src/ledger/bureau-key.ts";
import { dataPaths } from "../src/ledger/data-directory.ts";
import { nodeFiles } from "../src/ledger/journal-files.ts";
import { openLedgerCore } from "../src/ledger/ledger-core.ts";

/** Opens the journal of a data directory; commit to it, and close it. */
export function openJournal(dataDir: string, nowMs: number): ReturnType<typeof openLedgerCore> {
  const paths = dataPaths(dataDir);
  return openLedgerCore({
    files: nodeFiles,
    directory: paths.journal,
    key: loadBureauKey(paths.bureauKey),
    epoch: 1,
    fold: () => undefined,
    nowMs,
  });
}

// Journal writer for benches and tests: histories as the ledger writes them, without the fold.
import { loadBureauKey } from "../src/journal/signing-key.ts";
import { resolveDataPaths } from "../src/journal/data-directory.ts";
import { diskFileLayer } from "../src/platform/files.ts";
import { LedgerCore } from "../src/ledger/core.ts";

/** Opens the journal of a data directory; commit to it, and close it. */
export function openJournal(dataDir: string, nowMs: number): LedgerCore {
  const paths = resolveDataPaths(dataDir);
  return new LedgerCore({
    files: diskFileLayer,
    directory: paths.journal,
    key: loadBureauKey(paths.bureauKey),
    epoch: 1,
    fold: () => undefined,
    nowMs,
  });
}

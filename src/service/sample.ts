// Loads the sample history that an empty data directory starts with.
import { fileURLToPath } from "node:url";
import type { Bureau } from "../bureau/bureau.ts";
import { importOutcomeFile } from "./import/pipeline.ts";
import { createLocalImportSink } from "./import/local-sink.ts";

const SAMPLE_PATH = fileURLToPath(new URL("../../data/sample/outcomes.ndjson", import.meta.url));

/** Times move so that the newest outcome is now: old evidence would have almost no weight. */
export async function importSampleHistory(bureau: Bureau, nowMs: number): Promise<number> {
  const summary = await importOutcomeFile(
    {
      path: SAMPLE_PATH,
      format: "ndjson",
      namespace: "",
      isRebased: true,
      nowMs,
      badLinesMax: 0,
    },
    createLocalImportSink(bureau),
    () => undefined,
  );
  return summary.accepted;
}

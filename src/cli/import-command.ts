// `trustrank import FILE`: loads a history into the ledger, through the running server when there
// is one, else through a ledger of this process alone.
import { readEnvironment } from "./environment.ts";
import { BATCH_BODY_BYTES_MAX } from "../contract/limits.ts";
import type { ImportReport } from "../contract/schemas/outcomes.ts";
import {
  describeBadLine,
  importOutcomeFile,
  requireReadable,
  type BatchReport,
  type ImportOptions,
  type ImportSink,
  type ImportSummary,
} from "../service/import/pipeline.ts";
import { createLocalImportSink } from "../service/import/local-sink.ts";
import { parseTableBytesMax } from "../service/settings/config.ts";
import { openServiceCore } from "../service/core.ts";
import { runOnFilesOrServer, type DataAccess } from "./data-access.ts";
import { CommandFailure, EXIT_SYNC_FAILED } from "../service/failure.ts";
import { printNote, print, printJson, type OutputFlags } from "./output.ts";
import { Progress } from "./progress.ts";
import type { ServerClient } from "./server-client.ts";

const BAD_LINES_SHOWN = 20;

/** Imports the file and prints the results of its lines. */
export async function runImport(
  access: DataAccess,
  options: ImportOptions,
  flags: OutputFlags,
): Promise<void> {
  // Before the data directory is touched, or even made.
  requireReadable(options.path);
  const summary = await runOnFilesOrServer(
    access,
    (dataDir) => importIntoFiles(dataDir, options),
    (client) => importWithProgress(options, createServerImportSink(client)),
  );
  const { source, accepted, duplicates, rejected } = summary;
  if (flags.json === true) return printJson(summary);
  for (const bad of rejected.slice(0, BAD_LINES_SHOWN)) printNote(describeBadLine(bad));
  if (rejected.length > BAD_LINES_SHOWN) printNote(`and ${rejected.length - BAD_LINES_SHOWN} more`);
  print(
    `${source}: ${accepted} outcomes taken, ${duplicates} repeats, ${rejected.length} bad lines`,
  );
}

async function importIntoFiles(dataDir: string, options: ImportOptions): Promise<ImportSummary> {
  let fatalCode = 0;
  let fatalWhy: string | undefined;
  const evidence = await openServiceCore({
    dataDir,
    isReservedEnabled: false,
    tableBytesMax: parseTableBytesMax(readEnvironment()),
    onFatal: (exitCode, why) => {
      fatalCode = exitCode;
      fatalWhy = why;
    },
  });
  try {
    return await importWithProgress(options, createLocalImportSink(evidence.bureau));
  } catch (error) {
    if (fatalCode === 0) throw error;
    const why = fatalWhy ?? `the journal failed: ${(error as Error).message}`;
    throw new CommandFailure(why, EXIT_SYNC_FAILED);
  } finally {
    await evidence.ledger.close();
  }
}

async function importWithProgress(
  options: ImportOptions,
  sink: ImportSink,
): Promise<ImportSummary> {
  let progress: Progress | undefined;
  try {
    return await importOutcomeFile(options, sink, (doneBytes, totalBytes) => {
      progress ??= new Progress("importing", totalBytes);
      progress.update(doneBytes);
    });
  } finally {
    progress?.stop();
  }
}

/** Through the server's import route; its line numbers are those of the batch, counted from one. */
function createServerImportSink(client: ServerClient): ImportSink {
  const send: ImportSink = async (batch, source) => {
    const body = batch.map((outcome) => `${JSON.stringify(outcome)}\n`).join("");
    if (Buffer.byteLength(body) > BATCH_BODY_BYTES_MAX && batch.length > 1) {
      const half = Math.ceil(batch.length / 2);
      const first = await send(batch.slice(0, half), source);
      return mergeBatchReports(first, await send(batch.slice(half), source), half);
    }
    const path = `/v1/outcomes/import?source=${encodeURIComponent(source)}`;
    const contentType = "application/x-ndjson";
    const text = await client.send({ method: "POST", path, contentType, body });
    const report = JSON.parse(text) as ImportReport;
    return {
      accepted: report.accepted,
      duplicates: report.duplicates,
      rejected: report.rejected.map(({ line, code, detail }) => ({
        index: line - 1,
        code,
        detail,
      })),
    };
  };
  return send;
}

function mergeBatchReports(
  first: BatchReport,
  second: BatchReport,
  firstCount: number,
): BatchReport {
  const moved = second.rejected.map((bad) => Object.assign(bad, { index: bad.index + firstCount }));
  return {
    accepted: first.accepted + second.accepted,
    duplicates: first.duplicates + second.duplicates,
    rejected: [...first.rejected, ...moved],
  };
}

// Sink of an import through the running server, in NDJSON.
import { BATCH_BODY_BYTES_MAX } from "../contract/limits.ts";
import type { ImportReport } from "../contract/schemas/outcomes.ts";
import type { BatchReport, ImportSink } from "../service/import/pipeline.ts";
import type { ServerClient } from "./server-client.ts";

/** Through the server's import route; its line numbers are those of the batch, counted from one. */
export function serverSink(client: ServerClient): ImportSink {
  const send: ImportSink = async (batch, source) => {
    const body = batch.map((outcome) => `${JSON.stringify(outcome)}\n`).join("");
    if (Buffer.byteLength(body) > BATCH_BODY_BYTES_MAX && batch.length > 1) {
      const half = Math.ceil(batch.length / 2);
      const first = await send(batch.slice(0, half), source);
      return joinReports(first, await send(batch.slice(half), source), half);
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

function joinReports(first: BatchReport, second: BatchReport, firstCount: number): BatchReport {
  const moved = second.rejected.map((bad) => Object.assign(bad, { index: bad.index + firstCount }));
  return {
    accepted: first.accepted + second.accepted,
    duplicates: first.duplicates + second.duplicates,
    rejected: [...first.rejected, ...moved],
  };
}

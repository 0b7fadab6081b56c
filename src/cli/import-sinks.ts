// Who takes the batches of an import: the bureau of this process, or a running server. Both end in
// the same use case and the same journal.
import type { Bureau, CallContext } from "../bureau/bureau.ts";
import { ServiceFault } from "../contract/faults.ts";
import { BATCH_BODY_BYTES_MAX } from "../contract/limits.ts";
import type { ImportReport } from "../contract/messages.ts";
import { MINIMUM_SCORE_DEFAULT } from "../http/keys.ts";
import type { BatchReport, ImportSink } from "./import-outcomes.ts";
import type { ServerClient } from "./server-client.ts";

const LEVEL = MINIMUM_SCORE_DEFAULT;

/** The operator at the keyboard: no key was asked for, because the files are theirs. */
const OPERATOR: CallContext = {
  requestId: "import",
  principal: {
    keyId: "operator",
    tenant: "operator",
    scopes: new Set(["admin"]),
    minimumScores: { L0: LEVEL, L1: LEVEL, L2: LEVEL, L3: LEVEL },
    isShadow: false,
  },
};

/** Into the ledger of this process. */
export function bureauSink(bureau: Bureau): ImportSink {
  return async (batch, source) => {
    const results = await bureau.importOutcomes(batch, source, OPERATOR);
    const rejected: { index: number; code: string; detail: string }[] = [];
    let duplicates = 0;
    for (const [index, result] of results.entries()) {
      if (result instanceof ServiceFault) {
        rejected.push({ index, code: result.code, detail: result.detail });
      } else if (result.duplicate) duplicates += 1;
    }
    const accepted = results.length - duplicates - rejected.length;
    return { accepted, duplicates, rejected };
  };
}

/** Through the server's import route; its lines are ours, counted from one. */
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

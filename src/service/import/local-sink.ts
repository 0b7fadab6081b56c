// Sink of an import into the bureau of this process.
import type { Bureau, CallContext } from "../../bureau/bureau.ts";
import { ServiceFault } from "../../contract/faults.ts";
import { MINIMUM_SCORES_DEFAULT } from "../../contract/policy.ts";
import { hashTenantToVoice } from "../../contract/voices.ts";
import type { ImportSink } from "./pipeline.ts";

/** The operator at the keyboard: no key was asked for, because the files are theirs. */
export const OPERATOR_CALL: CallContext = {
  requestId: "import",
  principal: {
    keyId: "operator",
    tenant: "operator",
    scopes: new Set(["admin"]),
    minimumScores: MINIMUM_SCORES_DEFAULT,
    isShadow: false,
    isFirstParty: true,
    voice: hashTenantToVoice("operator"),
  },
};

/** Into the ledger of this process. */
export function createLocalImportSink(bureau: Bureau): ImportSink {
  return async (batch, source) => {
    const results = await bureau.importOutcomes(batch, source, OPERATOR_CALL);
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

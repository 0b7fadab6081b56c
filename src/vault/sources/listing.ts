// Pages of the list of sources: by place in the chain, newest first (keyset paging). Each call looks at
// a bounded number of places, so that a search without findings blocks nobody.
import type { EvidenceList } from "../../contract/schemas/sources.ts";
import type { EvidenceQuery } from "../../contract/sources.ts";
import { type SourceVersion, buildEvidenceRecord } from "./records.ts";

/** Records of a page. */
export const RECORDS_PER_PAGE_MAX = 1000;
/** Places of the chain looked at for a page: some milliseconds. */
const SCANNED_RECORDS_MAX = 50_000;

/** Records of `tenant` and public ones that are asked for; `next_before` where older ones may follow. */
export function listEvidencePage(
  byIndex: readonly (SourceVersion | undefined)[],
  tenant: string,
  { prefix = "", state, before = byIndex.length, limit = RECORDS_PER_PAGE_MAX }: EvidenceQuery,
): Pick<EvidenceList, "records" | "next_before"> {
  const records: EvidenceList["records"] = [];
  const wanted = prefix.toLowerCase();
  let at = Math.min(before, byIndex.length);
  const end = Math.max(0, at - SCANNED_RECORDS_MAX);
  while (at > end && records.length < limit) {
    const held = byIndex[--at];
    if (held === undefined || (held.visibility !== "public" && held.tenant !== tenant)) continue;
    if (state !== undefined && held.state !== state) continue;
    if (startsWithLowerCase(held.source_id, wanted) || startsWithLowerCase(held.title, wanted)) {
      records.push(buildEvidenceRecord(held));
    }
  }
  return at === 0 ? { records } : { records, next_before: at };
}

/** `wanted` is in lower case. */
function startsWithLowerCase(text: string, wanted: string): boolean {
  return text.slice(0, wanted.length).toLowerCase().startsWith(wanted);
}

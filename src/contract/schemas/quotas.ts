// Messages of quotas: what a tenant may read in a month, and has read.
import { QUOTA_MAX, TENANT_LENGTH_MAX } from "../limits.ts";
import * as t from "./schema.ts";

/** `PUT /v1/quotas/{tenant}`. */
export const QuotaRequest = t.defineStrictMessage("QuotaRequest", {
  paid_reads_per_month: t.withDescription(
    t.withKeywords(t.integer, { minimum: 0, maximum: QUOTA_MAX }),
    "paid reads that its keys may make in a month, UTC",
  ),
});

export const Quota = t.defineMessage("Quota", {
  tenant: t.withDescription(t.text, `1 to ${TENANT_LENGTH_MAX} bytes`),
  paid_reads_per_month: t.integer,
  used: t.withDescription(t.integer, "paid reads of this month, a moment ago"),
  remaining: t.integer,
  resets_at: t.withDescription(t.time, "when the next month begins, UTC"),
});
export type QuotaDescription = t.MessageOf<typeof Quota>;

export const QuotaList = t.defineMessage("QuotaList", { quotas: t.defineList(Quota) });

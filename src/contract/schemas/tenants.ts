// Message of the list of tenants: whoever has a key, a quota or a use.
import * as t from "./schema.ts";
import { Quota } from "./quotas.ts";

const tenant = t.defineObject({
  tenant: t.text,
  /** Keys ever made, and those that are neither revoked nor expired. */
  ...t.repeatSchema(t.integer, "keys", "keys_active"),
  /** Since `since`. */
  ...t.repeatSchema(t.integer, "paid_reads", "test_reads", "outcomes_reported"),
  /** Last counted read or report since `since`; null without one. */
  last_used_at: t.timeOrNull,
  quota: t.makeOptional(Quota),
});

/** `GET /v1/tenants`. */
export const TenantList = t.defineMessage("TenantList", {
  /** Beginning of the first day that is counted. */
  since: t.time,
  tenants: t.defineList(tenant),
});
export type TenantList = t.MessageOf<typeof TenantList>;
export type TenantDescription = TenantList["tenants"][number];

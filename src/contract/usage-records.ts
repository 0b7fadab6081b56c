// Usage as journal payload: the sums of one meter that have risen since its last record, as JSON.
// Sums, not changes: a record that is written again, or read twice, adds nothing.
import { USAGE_KINDS, type UsageRow } from "./usage.ts";

const VERSION = 1;
/** Rows of one record: some 200 KiB. More become several records, each complete by itself. */
const ROWS_MAX = 2000;

/** Payload of a record of kind `usage`. Counts of 0 are left out, as are kinds that the writer did not know. */
interface UsagePayload {
  v: number;
  meter: string;
  rows: Record<string, unknown>[];
}

/** The payloads of rows of one meter, in order. */
export function encodeUsage(meter: string, rows: readonly UsageRow[]): Buffer[] {
  const payloads: Buffer[] = [];
  for (let from = 0; from < rows.length; from += ROWS_MAX) {
    const part = rows.slice(from, from + ROWS_MAX).map(listRowMembers);
    const payload: UsagePayload = { v: VERSION, meter, rows: part };
    payloads.push(Buffer.from(JSON.stringify(payload)));
  }
  return payloads;
}

function listRowMembers(row: UsageRow): Record<string, unknown> {
  const { day, key_id: key, tenant } = row;
  const counted = USAGE_KINDS.filter((kind) => row[kind] > 0).map((kind) => [kind, row[kind]]);
  return { day, key, tenant, ...Object.fromEntries(counted) };
}

/**
 * Rows of a payload.
 * @throws Error when it is of an unknown version, or no such payload.
 */
export function decodeUsage(payload: Uint8Array): UsageRow[] {
  const { v, meter, rows } = JSON.parse(Buffer.from(payload).toString()) as UsagePayload;
  if (v !== VERSION) throw new Error(`usage of version ${v} is not known`);
  return rows.map((members) => {
    const counts = USAGE_KINDS.map((kind) => [kind, readUsageCount(members[kind])]);
    const { day, key, tenant } = members;
    const names = { meter, day: String(day), key_id: String(key), tenant: String(tenant) };
    return { ...names, ...Object.fromEntries(counts) } as UsageRow;
  });
}

function readUsageCount(value: unknown): number {
  return Number.isSafeInteger(value) && (value as number) > 0 ? (value as number) : 0;
}

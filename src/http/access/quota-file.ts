// File quotas.json in the data directory: what each tenant may read in a month. A crash
// leaves the old list or the new one.
import { readFile } from "node:fs/promises";
import path from "node:path";
import { TENANT_LENGTH_MAX } from "../../contract/limits.ts";
import { isPlainText } from "../../contract/identifiers.ts";
import { isObject } from "../../contract/parse/json-object.ts";
import { replaceFileAsync } from "../../platform/files.ts";

const FILE_NAME = "quotas.json";
const FORMAT = 1;

/** Paid reads a month, by tenant. */
export type QuotaTable = ReadonlyMap<string, number>;

/**
 * The quotas; an absent file is none.
 * @throws Error when the file is no list of quotas: a quota must not vanish by a slip.
 */
export async function readQuotaFile(dataDir: string): Promise<Map<string, number>> {
  const file = path.join(dataDir, FILE_NAME);
  let text: string;
  try {
    text = await readFile(file, "utf8");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return new Map();
    throw error;
  }
  const quotas = parseQuotas(text);
  if (quotas === undefined) throw new Error(`\`${file}\` is no list of quotas of format ${FORMAT}`);
  return quotas;
}

function parseQuotas(text: string): Map<string, number> | undefined {
  let document: unknown;
  try {
    document = JSON.parse(text);
  } catch {
    return undefined;
  }
  if (!isObject(document) || document["format"] !== FORMAT) return undefined;
  const { quotas } = document;
  if (!isObject(quotas)) return undefined;
  const entries = Object.entries(quotas);
  const isQuota = ([tenant, limit]: [string, unknown]) =>
    isPlainText(tenant, TENANT_LENGTH_MAX) && Number.isSafeInteger(limit) && (limit as number) >= 0;
  return entries.every(isQuota) ? new Map(entries as [string, number][]) : undefined;
}

/** Replaces the file. Resolves when the new list is durable. */
export function writeQuotaFile(dataDir: string, quotas: QuotaTable): Promise<void> {
  const document = { format: FORMAT, quotas: Object.fromEntries(quotas) };
  return replaceFileAsync(path.join(dataDir, FILE_NAME), `${JSON.stringify(document, null, 2)}\n`);
}

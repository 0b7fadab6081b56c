// Flags that several commands share, and how their values are read. The only file that imports
// commander.
import { Command, CommanderError, InvalidArgumentError, Option } from "commander";
import { isAgentId, isPlainText } from "../../contract/identifiers.ts";
import { TENANT_LENGTH_MAX } from "../../contract/limits.ts";
import { parseSinceMs } from "../../contract/parse/parameters.ts";
import { SETTINGS } from "../../service/settings/settings.ts";
import type { Setting } from "../../service/settings/setting-kinds.ts";
import { describeSetting } from "../../service/settings/settings-text.ts";

export { Command, CommanderError, Option };

export function buildSettingOption(setting: Setting & { readonly flag: string }): Option {
  const option = new Option(setting.flag, describeSetting(setting));
  if (setting.isList !== true) return option;
  return option.argParser((value, earlier?: string) =>
    earlier === undefined ? value : `${earlier},${value}`,
  );
}

/** Flags of every command that works on the data, by file or through a server. */
export function addAccessOptions(command: Command): Command {
  return command
    .addOption(buildSettingOption(SETTINGS.config))
    .addOption(buildSettingOption(SETTINGS.dataDir))
    .addOption(buildSettingOption(SETTINGS.ownerWait))
    .addOption(buildSettingOption(SETTINGS.url))
    .addOption(buildSettingOption(SETTINGS.key))
    .option("--json", "print one JSON value");
}

export function parseCount(text: string): number {
  if (!/^\d{1,9}$/.test(text)) throw new InvalidArgumentError("expected a whole number");
  return Number(text);
}

/** A number of reads: larger than other counts may be. */
export function parseReadCount(text: string): number {
  if (!/^\d{1,15}$/.test(text)) throw new InvalidArgumentError("expected a whole number");
  return Number(text);
}

/** `30d`, `30`. */
export function parseDays(text: string): number {
  const [, digits] = /^(\d{1,5})d?$/.exec(text) ?? [];
  if (digits === undefined) throw new InvalidArgumentError("expected days, such as `30d`");
  return Number(digits);
}

const SECONDS_BY_UNIT: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3600, d: 86_400 };

/** `1h`, `90m`, `0`: seconds. */
export function parseOverlapSeconds(text: string): number {
  const [, digits, unit] = /^(\d{1,7})([smhd])$/.exec(text) ?? [];
  if (text === "0") return 0;
  if (digits === undefined) throw new InvalidArgumentError("expected a time, such as `1h`, or `0`");
  return Number(digits) * SECONDS_BY_UNIT[unit!]!;
}

export function parseNamespace(text: string): string {
  if (!isAgentId(`agent://${text}/x`) || text.includes("/")) {
    throw new InvalidArgumentError("expected letters, digits, `.`, `_`, `~` or `-`");
  }
  return text;
}

export function parseTenant(text: string): string {
  if (isPlainText(text, TENANT_LENGTH_MAX)) return text;
  throw new InvalidArgumentError(`expected 1 to ${TENANT_LENGTH_MAX} bytes of plain text`);
}

const US_PER_MS = 1000;
const POSITION = /^\d{1,15}$/;

/** A point of the journal: a position, or a time. */
export function parseJournalPoint(text: string): { position: number } | { timeUs: number } {
  return POSITION.test(text)
    ? { position: Number(text) }
    : { timeUs: parseTimeMs(text) * US_PER_MS };
}

export function parseTimeMs(text: string): number {
  try {
    return parseSinceMs(text);
  } catch {
    throw new InvalidArgumentError("expected a date or an RFC 3339 date-time");
  }
}

// Structured log of the service (pino): one JSON object per line, or a form for people at a terminal.
// Callers give an event and facts, not sentences. Secrets that slip in all the same are struck out.
import { pino } from "pino";

/** The id of a key is no secret and stays: it says which key to revoke. */
const API_KEY = /\b(tr_[a-z]{1,8}_[0-9A-Za-z]{10})_[\w-]+/g;
const BEARER = /\b(Bearer|Basic) +(?!tr_)[\w.~+/=-]{8,}/gi;
const CENSOR = "[redacted]";

/** The line of JSON without what must not be in it. */
function redactSecrets(line: string, secrets: readonly string[]): string {
  let clean = line;
  for (const secret of secrets) {
    // As escaped in JSON: a backslash precedes quotes and backslashes.
    const written = JSON.stringify(secret).slice(1, -1);
    if (written !== "") clean = clean.replaceAll(written, CENSOR);
  }
  if (clean.includes("tr_")) clean = clean.replaceAll(API_KEY, `$1_${CENSOR}`);
  return /(?:bearer|basic) /i.test(clean) ? clean.replaceAll(BEARER, `$1 ${CENSOR}`) : clean;
}

/** From the fewest lines to the most. */
export const LOG_LEVELS = ["error", "warn", "info", "debug"] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];

export const LOG_FORMATS = ["json", "human"] as const;
export type LogFormat = (typeof LOG_FORMATS)[number];

export type LogFields = Readonly<Record<string, unknown>>;

export interface Log {
  /** Only there when the level is `debug`: elsewhere nothing is spent on what would be said. */
  debug?(message: string, fields?: LogFields): void;
  info(message: string, fields?: LogFields): void;
  warn(message: string, fields?: LogFields): void;
  error(message: string, fields?: LogFields): void;
  /** Lines that `say` writes reach the output in one piece: one system call for many. */
  together?(say: () => void): void;
}

export interface LogOptions {
  /** Default `info`. */
  readonly level?: LogLevel;
  /** Default `json`. */
  readonly format?: LogFormat;
  /** Texts that must not be in any line, besides API keys: an operator's own key. */
  readonly secrets?: readonly string[];
}

/** Members whose value is never written, at the top of a line and one level below. */
const SECRET_MEMBERS = ["authorization", "key", "api_key", "admin_key", "secret", "password"];
const BODIES = ["body", "signature", "text"];

/** Makes a log that passes finished lines to `write`. `clock` is epoch ms. */
export function createLog(
  write: (line: string) => void,
  clock: () => number,
  { level = "info", format = "json", secrets = [] }: LogOptions = {},
): Log {
  const finish = format === "human" ? formatHumanLogLine : (line: string) => line;
  let held: string[] | undefined;
  const put = (line: string) => {
    if (held === undefined) write(line);
    else held.push(line);
  };
  const together = (say: () => void) => {
    held = [];
    try {
      say();
    } finally {
      const all = held.join("");
      held = undefined;
      if (all !== "") write(all);
    }
  };
  const unread = [...SECRET_MEMBERS, ...BODIES];
  const logger = pino(
    {
      level,
      base: null,
      timestamp: () => `,"time":"${new Date(clock()).toISOString()}"`,
      formatters: { level: (label) => ({ level: label }) },
      redact: { paths: unread.flatMap((name) => [name, `*.${name}`]), censor: CENSOR },
    },
    { write: (line) => put(finish(redactSecrets(line, secrets))) },
  );
  const say =
    (at: LogLevel) =>
    (message: string, fields?: LogFields): void =>
      // The event stands before its facts, as a member of the object: pino's own message comes last.
      logger[at]({ message, ...fields });
  const log = { info: say("info"), warn: say("warn"), error: say("error"), together };
  return level === "debug" ? { ...log, debug: say("debug") } : log;
}

const LEVEL_WIDTH = 5;
/** A text that needs no quotes. */
const PLAIN = /^[\w./:@+-]+$/;
/** What could move the cursor or change colours, beyond what JSON escapes. */
const CONTROLS = /[\u007f-\u009f\u2028\u2029]/g;

/** `12:30:59.123 WARN  event member=value ...`, with a line break at its end. */
function formatHumanLogLine(line: string): string {
  const { level, time, message, ...facts } = JSON.parse(line) as Record<string, unknown>;
  const head = `${String(time).slice(11, 23)} ${String(level).toUpperCase().padEnd(LEVEL_WIDTH)} `;
  let text = head + escapeTerminalText(String(message));
  let below = "";
  for (const [name, value] of Object.entries(facts)) {
    if (typeof value === "string" && value.includes("\n")) {
      below += `  ${name}:\n${value.split("\n").map(formatIndentedLine).join("")}`;
    } else text += ` ${name}=${formatFactValue(value)}`;
  }
  return `${text}\n${below}`;
}

function formatIndentedLine(line: string): string {
  return `    ${escapeTerminalText(line)}\n`;
}

function formatFactValue(value: unknown): string {
  if (typeof value === "string" && PLAIN.test(value)) return value;
  return JSON.stringify(value).replaceAll(CONTROLS, "?");
}

/** A text without quotes around it, and without what a terminal would obey. */
function escapeTerminalText(text: string): string {
  return JSON.stringify(text).slice(1, -1).replaceAll('\\"', '"').replaceAll(CONTROLS, "?");
}

// Structured log of the service (pino): one JSON object per line, or a form for people at a terminal.
// Callers give an event and facts, not sentences. Secrets that slip in all the same are struck out.
import { pino } from "pino";
import { formatHumanLogLine } from "./human-line.ts";
import { redactSecrets } from "./redaction.ts";

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
const CENSOR = "[redacted]";

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

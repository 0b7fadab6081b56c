// Log of `serve`, on stderr. In JSON every line is one object: what Node, a package or a thread writes
// to stderr of its own accord becomes an event too, and so does an error that nobody caught.
import { type Log, type LogFormat, type LogLevel, createLog } from "../../platform/log.ts";
import {
  parseLogConfig,
  type ServeConfig,
  type ServeFlags,
} from "../../service/settings/config.ts";
import { type Environment, InvalidSetting } from "../../service/settings/settings.ts";
import { reportFailure, describeFailure } from "../failure-report.ts";

/** Longest piece without a line break that is kept as the beginning of a line. */
const LINE_LENGTH_MAX = 16_384;

export interface ServiceLog {
  readonly log: Log;
  readonly format: LogFormat;
}

const writeStderr = process.stderr.write.bind(process.stderr);

/** The log that the settings ask for. */
export function createServiceLog({ log, adminKey }: ServeConfig): ServiceLog {
  return openServiceLog(log.level, log.format, adminKey);
}

/** The same for a start whose settings are not read yet, or wrong: those of the log may be, too. */
export function createStartupLog(flags: ServeFlags, environment: Environment): ServiceLog {
  const adminKey = environment["TRUSTRANK_ADMIN_KEY"];
  try {
    return openServiceLog("info", parseLogConfig(flags, environment).format, adminKey);
  } catch (error) {
    if (!(error instanceof InvalidSetting)) throw error;
    return openServiceLog("info", undefined, adminKey);
  }
}

function openServiceLog(
  level: LogLevel,
  given: LogFormat | undefined,
  adminKey: string | undefined,
): ServiceLog {
  const format = given ?? (process.stderr.isTTY ? "human" : "json");
  const secrets = adminKey === undefined ? [] : [adminKey];
  return {
    format,
    log: createLog((line) => writeStderr(line), Date.now, { level, format, secrets }),
  };
}

/** Tells of a failure in the form of the log; returns the exit code. */
export function logFailure({ log, format }: ServiceLog, error: unknown): number {
  if (format === "human") return reportFailure(error);
  const { message, exitCode } = describeFailure(error);
  log.error("service_failed", { detail: message, exit_code: exitCode });
  return exitCode;
}

/**
 * Makes events of whatever else would reach stderr or end the process. Called once. `onUncaught` ends
 * the service in order, as after any failure: native threads cut off by an exit would abort the process.
 */
export function redirectStderrToLog({ log, format }: ServiceLog, onUncaught: () => void): void {
  process.on("uncaughtException", (error) => {
    log.error("uncaught_exception", { error: error.stack ?? String(error) });
    onUncaught();
  });
  if (format === "human") return;
  const hidden = new Set(process.execArgv.map((flag) => flag.replace("--disable-warning=", "")));
  process.removeAllListeners("warning");
  process.on("warning", ({ name, message, stack }) => {
    if (!hidden.has(name)) log.warn("process_warning", { detail: `${name}: ${message}`, stack });
  });
  let started = "";
  // What worker threads write comes through here as well.
  process.stderr.write = (piece: Uint8Array | string, ...rest: unknown[]): boolean => {
    const lines = (started + Buffer.from(piece as string).toString()).split("\n");
    const last = lines.pop() ?? "";
    started = last.length > LINE_LENGTH_MAX ? "" : last;
    if (started !== last) lines.push(last);
    for (const detail of lines) if (detail.trim() !== "") log.warn("stderr_line", { detail });
    const done = rest.at(-1);
    if (typeof done === "function") process.nextTick(done);
    return true;
  };
}

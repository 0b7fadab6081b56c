// `trustrank serve`: starts the service, greets its user, and turns signals and failures into an
// orderly end with an exit code that a supervisor can read.
import { basename } from "node:path";
import { isatty } from "node:tty";
import { isLoopbackHost } from "../http/metrics/listener.ts";
import {
  type ServeConfig,
  parseDataDirectory,
  parseServeConfig,
  type ServeFlags,
} from "../service/settings/config.ts";
import type { Log } from "../platform/log.ts";
import { startService, type Service } from "../service/start.ts";
import { acceptLoss, describeAcceptedLoss } from "../service/accept-loss.ts";
import { CommandFailure, EXIT_FAILED } from "../service/failure.ts";
import { readPackageVersion } from "../service/identity.ts";
import { createClaimOptions } from "./data-access.ts";
import { DrainWindow } from "./drain-window.ts";
import {
  findVariableOrigin,
  readEnvironment,
  loadEnvironment,
  setDatabaseAllocator,
} from "./environment.ts";
import { print, printJson } from "./output.ts";
import { describeStart, SAMPLE_AGENT, type StartFacts } from "./start-text.ts";
import {
  type ServiceLog,
  createServiceLog,
  createStartupLog,
  redirectStderrToLog,
  logFailure,
} from "./logging/service-log.ts";
import { parseServerAddress } from "./server-client.ts";

/** File descriptor of the standard input. */
const STDIN = 0;
/** An end that takes longer than this after the drain window is cut off. */
const STOP_MS_MAX = 10_000;

/** Flags of the command; those of settings win over the environment. */
export interface ServeCommandFlags extends ServeFlags {
  readonly config?: string;
  readonly json?: boolean;
  readonly acceptLoss?: boolean;
}

/**
 * Resolves once the service listens, or has failed to; the process then lives until a signal or a
 * failure. From the first line on stderr has the form of the log, wrong settings included.
 */
export async function runServe(flags: ServeCommandFlags): Promise<void> {
  let voice = createStartupLog(flags, readEnvironment());
  try {
    setDatabaseAllocator();
    await loadEnvironment(flags.config);
    const config = parseServeConfig(flags, readEnvironment());
    voice = createServiceLog(config);
    await startServing(config, flags, voice);
  } catch (error) {
    process.exitCode = logFailure(voice, error);
  }
}

async function startServing(
  config: ServeConfig,
  flags: ServeCommandFlags,
  voice: ServiceLog,
): Promise<void> {
  const { log } = voice;
  log.info("service_starting", {
    version: readPackageVersion(),
    data_dir: config.dataDir,
    pid: process.pid,
  });
  if (flags.acceptLoss === true) {
    const claiming = createClaimOptions(config.ownerWaitMs);
    const accepted = await acceptLoss(config.dataDir, Date.now(), claiming);
    if (accepted !== undefined)
      log.warn("loss_accepted", { detail: describeAcceptedLoss(accepted) });
  }
  let service: Service | undefined;
  let fatalCode = 0;
  let fatalWhy = "";
  let drainWindow: DrainWindow | undefined;
  const exitCodeNow = () => fatalCode;
  const onFatal = (exitCode: number, why: string) => {
    // What fails while it ends has been told.
    const isFirst = fatalCode === 0;
    fatalCode = exitCode;
    fatalWhy = why;
    drainWindow?.cancel();
    if (service !== undefined && isFirst) void fail(service, log, why, exitCodeNow);
  };
  redirectStderrToLog(voice, () => {
    // What was waited for may never come.
    if (service === undefined) process.exit(EXIT_FAILED);
    onFatal(Math.max(fatalCode, EXIT_FAILED), "an error that nobody caught: ending");
  });
  try {
    service = await startService(config, log, onFatal);
  } catch (error) {
    if (fatalCode === 0) throw error;
    throw new CommandFailure(fatalWhy, fatalCode);
  }
  const running = service;
  // It failed between listening and here.
  if (exitCodeNow() !== 0) return fail(running, log, fatalWhy, exitCodeNow);
  drainWindow = openDrainWindow(config.drainMs, running, log, () =>
    shutDown(running, log, exitCodeNow),
  );
  const { admin_key: _key, console_link: _link, ...facts } = collectStartFacts(service, config);
  log.info("service_listening", facts);
  if (flags.json === true) printJson(collectStartFacts(service, config));
  else for (const line of describeStart(collectStartText(service, config))) print(line);
}

/** Drains on SIGTERM or SIGINT, then calls `onEnd`. */
function openDrainWindow(
  drainMs: number,
  service: Service,
  log: Log,
  onEnd: () => Promise<void>,
): DrainWindow {
  const opened = new DrainWindow({
    drainMs,
    isAtTerminal: isatty(STDIN),
    onBegin: (signal, windowMs) => {
      log.info("service_ending", { detail: `${signal}: draining`, drain_ms: windowMs });
      service.drain();
    },
    onEnd: () => void onEnd(),
  });
  for (const signal of ["SIGTERM", "SIGINT"] as const) {
    process.on(signal, () => opened.signal(signal));
  }
  return opened;
}

/** Ends at once and in order, with the exit code of the failure. */
function fail(service: Service, log: Log, why: string, exitCodeNow: () => number): Promise<void> {
  log.error("service_failed", { detail: why, exit_code: exitCodeNow() });
  return shutDown(service, log, exitCodeNow);
}

/**
 * Answers requests in flight, syncs, closes, exits. A failed journal takes the same way: its
 * pending outcomes are refused by then, and native threads cut off by an exit would abort the
 * process.
 */
async function shutDown(service: Service, log: Log, exitCodeNow: () => number): Promise<void> {
  setTimeout(() => {
    log.warn("service_end_late", { detail: "some requests did not end in time" });
    if (service.isThreadLate) killProcess(log);
    process.exit(Math.max(exitCodeNow(), EXIT_FAILED));
  }, STOP_MS_MAX).unref();
  try {
    await service.close();
    if (service.isThreadLate) killProcess(log);
    process.exit(exitCodeNow());
  } catch (error) {
    log.error("service_end_failed", { detail: (error as Error).message });
    process.exit(Math.max(exitCodeNow(), EXIT_FAILED));
  }
}

/**
 * Ends the process without waiting for native code: an exit would wait for a call into the database
 * or the archive's disk that does not come back, or abort. All that was acknowledged is synced by now.
 */
function killProcess(log: Log): void {
  const detail = "a call into the database or the archive does not come back: ending without it";
  log.warn("service_end_forced", { detail });
  process.kill(process.pid, "SIGKILL");
}

function collectStartFacts(service: Service, config: ServeConfig): Record<string, unknown> {
  return {
    url: service.url,
    adapter: service.adapter,
    ...(config.sockets.paths.length === 0 ? {} : { sockets: config.sockets.paths }),
    http_threads: config.httpThreads,
    ...(service.metricsUrl === undefined ? {} : { metrics_url: service.metricsUrl }),
    grpc_port: service.grpcPort ?? null,
    version: service.version,
    data_dir: config.dataDir,
    pid: process.pid,
    replayed: service.replayedCount,
    sample: service.sampleCount,
    agents: service.agentCount,
    admin_key: service.newAdminKey ?? null,
    console_link: service.consoleLink ?? null,
  };
}

function collectStartText(service: Service, config: ServeConfig): StartFacts {
  const { base, socket } = parseServerAddress(service.url);
  const isDefaultDir = parseDataDirectory(undefined, readEnvironment()) === config.dataDir;
  return {
    version: service.version,
    base,
    socket,
    adapter: service.adapter,
    httpThreads: config.httpThreads,
    grpcAddress:
      service.grpcPort === undefined ? undefined : `${config.host} port ${service.grpcPort}`,
    dataDir: config.dataDir,
    sampleCount: service.sampleCount,
    replayedCount: service.replayedCount,
    agentCount: service.agentCount,
    newAdminKey: service.newAdminKey,
    storedAdminKey: service.storedAdminKey,
    adminKeyOrigin: config.adminKey === undefined ? undefined : describeAdminKeyOrigin(),
    consoleLink: service.consoleLink,
    consoleUrl: findConsoleUrl(base, socket, config),
    command: describeOwnCommand(),
    dataDirFlags: isDefaultDir ? "" : ` --data-dir ${config.dataDir}`,
    hasSampleAgent: service.hasRecord(SAMPLE_AGENT),
    areTestAgentsEnabled: config.isReservedEnabled,
  };
}

/** Login page for a browser on this machine, or under the first named host. */
function findConsoleUrl(
  base: string,
  socket: string | undefined,
  { console: { mode, hosts } }: ServeConfig,
): string | undefined {
  if (mode === "off") return undefined;
  const { hostname } = new URL(base);
  if (socket === undefined && isLoopbackHost(hostname.replaceAll(/[[\]]/g, "")))
    return `${base}/console`;
  return hosts[0] === undefined ? undefined : `https://${hosts[0]}/console`;
}

/** Variable of the operator's own admin key, or the file that it was read from. */
function describeAdminKeyOrigin(): string {
  const variable = "TRUSTRANK_ADMIN_KEY";
  const origin = findVariableOrigin(variable);
  const path = readEnvironment()[`${variable}_FILE`];
  if (origin === undefined) return variable;
  return path === undefined ? origin : `${path} (${origin})`;
}

/** How the user who started this runs another command of the package. */
function describeOwnCommand(): string {
  if (readEnvironment()["npm_lifecycle_event"] !== undefined) {
    return "npm run --silent trustrank --";
  }
  const path = process.argv[1] ?? "trustrank";
  return basename(path) === "trustrank" ? "trustrank" : `node ${path}`;
}

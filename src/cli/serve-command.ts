// `trustrank serve`: starts the service, greets its user, and turns signals and failures into an
// orderly end with an exit code that a supervisor can read.
import type { ServeConfig } from "../service/settings/config.ts";
import { makeLog } from "../platform/log.ts";
import { startService } from "../service/start.ts";
import type { Service } from "../service/start.ts";
import { acceptLoss, lossText } from "../service/accept-loss.ts";
import { CommandFailure, EXIT_FAILED } from "../service/failure.ts";
import { claimingWithin } from "./data-access.ts";
import { note, print, printJson } from "./output.ts";
import { addressOf } from "./server-address.ts";

/** An end that takes longer than this is cut off. */
const STOP_MS_MAX = 10_000;
/** A verdict worth reading: this agent of the sample turned bad ten days ago. */
const SAMPLE_REQUEST = {
  agent_id: "agent://globex/price-scout",
  action: "order.place",
  tool_level: "L2",
  context: {},
};

/** Resolves once the service listens; the process then lives until a signal or a failure. */
export async function runServe(
  config: ServeConfig,
  flags: { json?: boolean; acceptLoss?: boolean },
): Promise<void> {
  if (flags.acceptLoss === true) {
    const claiming = claimingWithin(config.ownerWaitMs);
    const accepted = await acceptLoss(config.dataDir, Date.now(), claiming);
    if (accepted !== undefined) note(`accepted: ${lossText(accepted)}`);
  }
  const log = makeLog((line) => process.stderr.write(line), Date.now);
  let service: Service | undefined;
  let fatalCode = 0;
  let fatalWhy = "";
  const exitCodeNow = () => fatalCode;
  try {
    service = await startService(config, log, (exitCode, why) => {
      fatalCode = exitCode;
      fatalWhy = why;
      if (service !== undefined) void end(service, why, exitCodeNow);
    });
  } catch (error) {
    if (fatalCode === 0) throw error;
    throw new CommandFailure(fatalWhy, fatalCode);
  }
  const running = service;
  // It failed between listening and here.
  if (exitCodeNow() !== 0) return end(running, fatalWhy, exitCodeNow);
  for (const signal of ["SIGTERM", "SIGINT"] as const) {
    process.once(signal, () => void end(running, `${signal}: draining`, exitCodeNow));
  }
  if (flags.json === true) printJson(factsOf(service, config));
  else greet(service, config);
}

/**
 * Answers requests in flight, syncs, closes, exits. A failed journal takes the same way: its
 * pending outcomes are refused by then, and native threads cut off by an exit would abort the
 * process.
 */
async function end(service: Service, why: string, exitCodeNow: () => number): Promise<void> {
  note(why);
  setTimeout(() => {
    note("some requests did not end in time");
    if (service.isThreadLate) endAtOnce();
    process.exit(Math.max(exitCodeNow(), EXIT_FAILED));
  }, STOP_MS_MAX).unref();
  try {
    await service.close();
    if (service.isThreadLate) endAtOnce();
    process.exit(exitCodeNow());
  } catch (error) {
    note(`could not stop cleanly: ${(error as Error).message}`);
    process.exit(Math.max(exitCodeNow(), EXIT_FAILED));
  }
}

/**
 * Ends the process without waiting for native code: an exit would wait for a call into the database
 * or the archive's disk that does not come back, or abort. All that was acknowledged is synced by now.
 */
function endAtOnce(): void {
  note("a call into the database or the archive does not come back: ending without it");
  process.kill(process.pid, "SIGKILL");
}

function factsOf(service: Service, config: ServeConfig): Record<string, unknown> {
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
  };
}

function greet(service: Service, config: ServeConfig): void {
  const { url, adapter, version, newAdminKey, sampleCount, replayedCount } = service;
  const threads = config.httpThreads > 1 ? `, ${config.httpThreads} threads` : "";
  print(`TrustRank ${version} listens on ${url} (${adapter}${threads}), data in ${config.dataDir}`);
  if (service.grpcPort !== undefined) {
    print(`Envoy's ext_authz over gRPC on ${config.host} port ${service.grpcPort}`);
  }
  if (sampleCount > 0) print(`loaded the sample history: ${sampleCount} outcomes`);
  else print(`${service.agentCount} agents from ${replayedCount} outcomes`);
  if (newAdminKey !== undefined) {
    print(`admin key, shown this once: ${newAdminKey}`);
  }
  const key = newAdminKey ?? (config.adminKey === undefined ? "<key>" : "$TRUSTRANK_ADMIN_KEY");
  const quote = key.startsWith("$") ? '"' : "'";
  const { base, socket } = addressOf(url);
  const by = socket === undefined ? "" : ` --unix-socket ${socket}`;
  print("try it:");
  print(`  curl -s${by} ${base}/v1/trust/verify \\`);
  print(`    -H ${quote}Authorization: Bearer ${key}${quote} \\`);
  print(`    -H 'Content-Type: application/json' -d '${JSON.stringify(SAMPLE_REQUEST)}'`);
}

// Configuration of this node in its cluster, from flags, environment and file.
import { hostname } from "node:os";
import { resolve } from "node:path";
import { createSettingReader, type Environment, type SettingFlags } from "./settings.ts";

const MONITOR_PORT = 8222;
const GIBIBYTE = 1024 ** 3;

/** A node of a cluster. */
export type ClusterConfig = Readonly<NonNullable<ReturnType<typeof parseClusterConfig>>>;

/**
 * Undefined where no servers are named; values are checked all the same. Files are resolved against the command's
 * working directory.
 * @throws InvalidSetting
 */
export function parseClusterConfig(flags: SettingFlags, environment: Environment) {
  const read = createSettingReader(flags, environment);
  const resolveFile = (path: string | undefined) =>
    path === undefined ? undefined : resolve(environment["INIT_CWD"] || ".", path);
  const servers = read("cluster");
  const node = read("clusterNode");
  const name = read("clusterName");
  const monitors = read("clusterMonitor");
  const credentialsFile = resolveFile(read("clusterCredentials"));
  const caFile = resolveFile(read("clusterCa"));
  const certFile = resolveFile(read("clusterCert"));
  const keyFile = resolveFile(read("clusterKey"));
  const tls = {
    ...(caFile !== undefined && { caFile }),
    ...(certFile !== undefined && { certFile }),
    ...(keyFile !== undefined && { keyFile }),
  };
  const rest = {
    url: read("clusterUrl"),
    streamBytesMax: read("clusterStreamGb") * GIBIBYTE,
    /** Messages of the log kept behind the slowest node; undefined: none is removed. */
    keepMessages: parseKeepMessages(read("clusterKeep")),
    role: read("clusterRole"),
    /** Bound of the stream of decisions. */
    decisionBytesMax: read("clusterDecisionsGb") * GIBIBYTE,
    /** Time without its cluster after which a node refuses keys. */
    refuseMs: read("clusterRefuseSec") * 1000,
    /** Time without progress after which a start that cannot follow the log ends. */
    stallMs: read("clusterStartSec") * 1000,
    /** Whether this node may be the one that runs kaizen. */
    isKaizenScheduled: read("kaizen"),
    isUnsafe: read("clusterUnsafe"),
  };
  if (servers === undefined) return undefined;
  const hosts = servers.map((server) => server.slice(0, server.lastIndexOf(":")));
  return {
    servers,
    monitors: monitors ?? hosts.map((host) => `http://${host}:${MONITOR_PORT}`),
    node: node ?? sanitizeNodeName(hostname()),
    name,
    credentialsFile,
    tls: Object.keys(tls).length === 0 ? undefined : tls,
    ...rest,
  };
}

function parseKeepMessages(keep: number | "all"): number | undefined {
  return keep === "all" ? undefined : keep;
}

function sanitizeNodeName(name: string): string {
  return name.replaceAll(/[^A-Za-z0-9_-]/g, "-").slice(0, 32);
}

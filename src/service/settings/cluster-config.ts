// The cluster as flags, environment and file ask for it.
import { type ClusterConfig, parseClusterConfig } from "./cluster-settings.ts";
import { type Environment, readSetting } from "./settings.ts";

/** @throws InvalidSetting */
export function readClusterConfig(
  flags: { readonly cluster?: string; readonly clusterNode?: string },
  environment: Environment,
): ClusterConfig | undefined {
  const values = {
    servers: readSetting("cluster", flags.cluster, environment),
    node: readSetting("clusterNode", flags.clusterNode, environment),
    name: readSetting("clusterName", undefined, environment),
    monitors: readSetting("clusterMonitor", undefined, environment),
    credentials: readSetting("clusterCredentials", undefined, environment),
    ca: readSetting("clusterCa", undefined, environment),
    cert: readSetting("clusterCert", undefined, environment),
    key: readSetting("clusterKey", undefined, environment),
    url: readSetting("clusterUrl", undefined, environment),
    streamGb: readSetting("clusterStreamGb", undefined, environment),
    keep: readSetting("clusterKeep", undefined, environment),
    role: readSetting("clusterRole", undefined, environment),
    decisionsGb: readSetting("clusterDecisionsGb", undefined, environment),
    refuseSec: readSetting("clusterRefuseSec", undefined, environment),
    isKaizenScheduled: readSetting("kaizen", undefined, environment),
    isUnsafe: readSetting("clusterUnsafe", undefined, environment),
  };
  return parseClusterConfig(values, environment);
}

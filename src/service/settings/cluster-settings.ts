// Settings of a cluster: the servers of its ordered log, this node's name in it, and how it logs in.
import { hostname } from "node:os";
import { resolve } from "node:path";
import { NODE_ROLES, type NodeRole } from "../../stream/reports.ts";
import { KEPT_MESSAGES_MIN } from "../../stream/retention.ts";
import type { Environment } from "./settings.ts";
import {
  createTextKind,
  createChoiceKind,
  onOffKind,
  type Setting,
  type SettingKind,
  createCheckedTextKind,
  createWholeNumberKind,
} from "./setting-kinds.ts";

const SERVER = /^(?:nats:\/\/|tls:\/\/)?([A-Za-z0-9.-]+|\[[0-9A-Fa-f:]+\])(?::(\d{1,5}))?$/;
const PORT = 4222;
const MONITOR_PORT = 8222;
const NODE = /^[A-Za-z0-9_-]{1,32}$/;

const serversKind: SettingKind<readonly string[]> = {
  takes: "a list with commas of NATS servers (`nats://a:4222,nats://b:4222,nats://c:4222`)",
  read: (text) =>
    text.split(",").map((name) => {
      const [, host, port = PORT] = SERVER.exec(name.trim()) ?? [];
      if (host === undefined) throw new RangeError(`\`${name}\` is not a server`);
      return `${host}:${port}`;
    }),
};

const urlsKind: SettingKind<readonly string[]> = {
  takes: "a list with commas of URLs (`http://a:8222,http://b:8222`)",
  read: (text) =>
    text.split(",").map((name) => {
      if (!/^https?:\/\//.test(name.trim()) || !URL.canParse(name.trim())) {
        throw new RangeError(`\`${name}\` is not a URL`);
      }
      return name.trim();
    }),
};

const KEEP = /^\d{4,12}$/;

const keepMessagesKind: SettingKind<number | "all"> = {
  takes: "a whole number from 1000, or `all`",
  read: (text) => {
    if (text === "all") return text;
    if (!KEEP.test(text) || Number(text) < KEPT_MESSAGES_MIN)
      throw new RangeError(`\`${text}\` is not a number of messages`);
    return Number(text);
  },
};

export const CLUSTER_SETTINGS = {
  cluster: {
    flag: "--cluster <servers>",
    variables: ["TRUSTRANK_CLUSTER"],
    kind: serversKind,
    default: undefined,
    defaultText: "none: this process is the whole bureau",
    sentence: "servers of the log (NATS JetStream) that orders what several nodes record",
  },
  clusterNode: {
    flag: "--cluster-node <name>",
    variables: ["TRUSTRANK_CLUSTER_NODE"],
    kind: createCheckedTextKind("1 to 32 letters, digits, `-` and `_`", (text) => NODE.test(text)),
    default: undefined,
    defaultText: "the machine's name",
    sentence: "name of this node in its cluster: no two nodes may share one",
  },
  clusterName: {
    variables: ["TRUSTRANK_CLUSTER_NAME"],
    kind: createCheckedTextKind("1 to 32 letters, digits, `-` and `_`", (text) => NODE.test(text)),
    default: "trustrank",
    sentence: "prefix of the stream and the buckets, where several clusters share servers",
  },
  clusterMonitor: {
    variables: ["TRUSTRANK_CLUSTER_MONITOR"],
    kind: urlsKind,
    default: undefined,
    defaultText: "port 8222 of each server",
    sentence: "monitoring pages of the servers, where each says whether it syncs",
  },
  clusterCredentials: {
    variables: ["TRUSTRANK_CLUSTER_CREDS"],
    kind: createTextKind("a file"),
    default: undefined,
    sentence: "file of NATS credentials (`.creds`)",
  },
  clusterCa: {
    variables: ["TRUSTRANK_CLUSTER_CA"],
    kind: createTextKind("a file"),
    default: undefined,
    sentence: "certificates that the servers are checked against; set, the way to them is TLS",
  },
  clusterCert: {
    variables: ["TRUSTRANK_CLUSTER_CERT"],
    kind: createTextKind("a file"),
    default: undefined,
    sentence: "certificate of this node, for servers that ask for one",
  },
  clusterKey: {
    variables: ["TRUSTRANK_CLUSTER_KEY"],
    kind: createTextKind("a file"),
    default: undefined,
    sentence: "private key of that certificate",
  },
  clusterUrl: {
    variables: ["TRUSTRANK_CLUSTER_URL"],
    kind: createCheckedTextKind("a URL", (text) => URL.canParse(text)),
    default: undefined,
    sentence: "base URL under which other nodes reach this one",
  },
  clusterStreamGb: {
    variables: ["TRUSTRANK_CLUSTER_STREAM_GB"],
    kind: createWholeNumberKind(1, 100_000),
    default: 64,
    sentence: "bound of the log on each server, in GiB; full, nothing more is recorded",
  },
  clusterKeep: {
    variables: ["TRUSTRANK_CLUSTER_KEEP"],
    kind: keepMessagesKind,
    default: 1_000_000,
    sentence:
      "messages of the log that stay behind the slowest node; older ones, which every node has, are removed",
  },
  clusterRole: {
    variables: ["TRUSTRANK_CLUSTER_ROLE"],
    kind: createChoiceKind(NODE_ROLES),
    default: "serve" as const,
    sentence:
      "`analytics`: this node also keeps the decisions of all others, for SQL; `serve`: its own alone",
  },
  clusterDecisionsGb: {
    variables: ["TRUSTRANK_CLUSTER_DECISIONS_GB"],
    kind: createWholeNumberKind(1, 100_000),
    default: 4,
    sentence:
      "bound of the stream that takes decisions to nodes of role `analytics`, in GiB on each server; full, it drops the oldest",
  },
  clusterRefuseSec: {
    variables: ["TRUSTRANK_CLUSTER_REFUSE_SEC"],
    kind: createWholeNumberKind(2, 3600),
    default: 10,
    sentence:
      "seconds without its cluster after which a node refuses keys, reads of scores after three times as many: how long a revoked key may live on a node that is cut off",
  },
  clusterUnsafe: {
    variables: ["TRUSTRANK_CLUSTER_UNSAFE"],
    kind: onOffKind,
    default: false,
    sentence: "go on with servers that may lose in a power cut what they acknowledge: for tests",
  },
} satisfies Record<string, Setting>;

/** A node of a cluster. */
export interface ClusterConfig {
  /** `host:port` of each server. */
  readonly servers: readonly string[];
  readonly monitors: readonly string[];
  readonly node: string;
  readonly name: string;
  readonly credentialsFile: string | undefined;
  readonly tls: { caFile?: string; certFile?: string; keyFile?: string } | undefined;
  readonly url: string | undefined;
  readonly streamBytesMax: number;
  /** Messages of the log kept behind the slowest node; undefined: none is removed. */
  readonly keepMessages: number | undefined;
  readonly role: NodeRole;
  /** Bound of the stream of decisions. */
  readonly decisionBytesMax: number;
  /** Milliseconds without its cluster after which a node refuses keys. */
  readonly refuseMs: number;
  /** Whether this node may be the one that runs kaizen. */
  readonly isKaizenScheduled: boolean;
  readonly isUnsafe: boolean;
}

/** Raw values of the settings above. */
export interface ClusterSettingValues {
  readonly servers: readonly string[] | undefined;
  readonly node: string | undefined;
  readonly name: string;
  readonly monitors: readonly string[] | undefined;
  readonly credentials: string | undefined;
  readonly ca: string | undefined;
  readonly cert: string | undefined;
  readonly key: string | undefined;
  readonly url: string | undefined;
  readonly streamGb: number;
  readonly keep: number | "all";
  readonly role: NodeRole;
  readonly decisionsGb: number;
  readonly refuseSec: number;
  readonly isKaizenScheduled: boolean;
  readonly isUnsafe: boolean;
}

const GIBIBYTE = 1024 ** 3;

/** Undefined where no servers are named. Files are resolved against the command's working directory. */
export function parseClusterConfig(
  values: ClusterSettingValues,
  environment: Environment,
): ClusterConfig | undefined {
  const { servers: list, ca, cert, key } = values;
  if (list === undefined) return undefined;
  const fileOf = (path: string) => resolve(environment["INIT_CWD"] || ".", path);
  const tls = {
    ...(ca !== undefined && { caFile: fileOf(ca) }),
    ...(cert !== undefined && { certFile: fileOf(cert) }),
    ...(key !== undefined && { keyFile: fileOf(key) }),
  };
  const hosts = list.map((server) => server.slice(0, server.lastIndexOf(":")));
  return {
    servers: list,
    monitors: values.monitors ?? hosts.map((host) => `http://${host}:${MONITOR_PORT}`),
    node:
      values.node ??
      hostname()
        .replaceAll(/[^A-Za-z0-9_-]/g, "-")
        .slice(0, 32),
    name: values.name,
    credentialsFile: values.credentials === undefined ? undefined : fileOf(values.credentials),
    tls: Object.keys(tls).length === 0 ? undefined : tls,
    url: values.url,
    streamBytesMax: values.streamGb * GIBIBYTE,
    keepMessages: values.keep === "all" ? undefined : values.keep,
    role: values.role,
    decisionBytesMax: values.decisionsGb * GIBIBYTE,
    refuseMs: values.refuseSec * 1000,
    isKaizenScheduled: values.isKaizenScheduled,
    isUnsafe: values.isUnsafe,
  };
}

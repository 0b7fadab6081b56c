// Settings of a cluster: NATS servers of its ordered log, name and role of this node, credentials, and limits.
import { NODE_ROLES } from "../../stream/reports.ts";
import { KEPT_MESSAGES_MIN } from "../../stream/retention.ts";
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
  clusterStartSec: {
    variables: ["TRUSTRANK_CLUSTER_START_SEC"],
    kind: createWholeNumberKind(5, 86_400),
    default: 60,
    sentence:
      "seconds without progress after which a start that cannot follow its cluster's log ends with exit code 1; while messages that it lacks are applied it goes on",
  },
  clusterUnsafe: {
    variables: ["TRUSTRANK_CLUSTER_UNSAFE"],
    kind: onOffKind,
    default: false,
    sentence: "go on with servers that may lose in a power cut what they acknowledge: for tests",
  },
} satisfies Record<string, Setting>;

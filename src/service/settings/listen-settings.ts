// Settings of the addresses: one with a port, sockets of the file system beside it
// or in its place.
import { findSocketPathError } from "../../platform/socket-file.ts";
import { DRAIN_MS } from "../../contract/setting-defaults.ts";
import type { ListenAddress } from "../../http/metrics/listener.ts";
import {
  createTextKind,
  listenAddressKind,
  type Setting,
  type SettingKind,
  createCheckedTextKind,
  createWholeNumberKind,
} from "./setting-kinds.ts";

/** A socket for each kind of neighbour, and some room. */
const LISTEN_SOCKETS_MAX = 8;
const UNIX = /^unix:(?:\/\/(?=\/))?(.*)$/;

/** All that `--listen` names. */
interface ListenAddresses {
  readonly tcp: ListenAddress | undefined;
  /** Paths. */
  readonly sockets: readonly string[];
}

export const listenAddressesKind: SettingKind<ListenAddresses> = {
  takes:
    "a list with commas of one address (`127.0.0.1:8080`) and sockets " +
    `(\`unix:/run/trustrank/http.sock\`, at most ${LISTEN_SOCKETS_MAX}); the flag may be repeated`,
  read: parseListenAddresses,
};

function parseListenAddresses(text: string): ListenAddresses {
  const sockets: string[] = [];
  let tcp: ListenAddress | undefined;
  for (const each of text.split(",").map((entry) => entry.trim())) {
    const path = UNIX.exec(each)?.[1];
    if (path === undefined) {
      if (tcp !== undefined) throw new RangeError(`\`${each}\` is a second address: one is served`);
      tcp = listenAddressKind.read(each);
      continue;
    }
    const why = sockets.includes(path) ? "is named twice" : findSocketPathError(path);
    if (why !== undefined) throw new RangeError(`\`${each}\` ${why}`);
    sockets.push(path);
  }
  if (sockets.length <= LISTEN_SOCKETS_MAX) return { tcp, sockets };
  throw new RangeError(`${sockets.length} sockets are more than ${LISTEN_SOCKETS_MAX}`);
}

/**
 * Owners may always read and write, which also refuses what a YAML file makes of `0o660`: that is 432,
 * in which an owner may not.
 */
const fileModeKind = createCheckedTextKind("a mode in octal digits from 0600 on (`0660`)", (text) =>
  /^0?[67][0-7]{2}$/.test(text),
);

export const LISTEN_SETTINGS = {
  port: {
    flag: "--port <port>",
    variables: ["TRUSTRANK_PORT", "PORT"],
    kind: createWholeNumberKind(0, 65_535),
    default: 8080,
    sentence: "port to listen on; 0 takes any free one",
  },
  host: {
    flag: "--host <host>",
    variables: ["TRUSTRANK_HOST"],
    kind: createTextKind("an address"),
    default: "127.0.0.1",
    sentence: "address to listen on; a proxy that ends TLS belongs in front of public traffic",
  },
  listen: {
    flag: "--listen <address>",
    isList: true,
    variables: ["TRUSTRANK_LISTEN"],
    kind: listenAddressesKind,
    default: undefined,
    defaultText: "host and port",
    sentence: "all that is listened on, in place of host and port; sockets alone mean no port",
  },
  socketMode: {
    flag: "--socket-mode <mode>",
    variables: ["TRUSTRANK_SOCKET_MODE"],
    kind: fileModeKind,
    default: "0660",
    sentence: "mode of the sockets: who may write to one may connect",
  },
  socketGroup: {
    flag: "--socket-group <group>",
    variables: ["TRUSTRANK_SOCKET_GROUP"],
    kind: createCheckedTextKind("the name or the number of a group", (text) =>
      /^[\w.-]{1,32}\$?$/.test(text),
    ),
    default: undefined,
    defaultText: "the service's own",
    sentence: "group of the sockets, one that the service belongs to",
  },
  drainMs: {
    variables: ["TRUSTRANK_DRAIN_MS"],
    kind: createWholeNumberKind(0, 600_000),
    default: DRAIN_MS,
    sentence:
      "ms after `SIGTERM` during which `/readyz` answers 503 and all else is served, so that load balancers choose other nodes; then the listeners close. A second signal, or Ctrl-C at a terminal, closes them at once",
  },
  signalsFile: {
    variables: ["TRUSTRANK_SIGNALS_FILE"],
    kind: createTextKind("a file"),
    default: undefined,
    sentence:
      "JSON file of the issuers whose security signals are taken, with their keys and namespaces",
  },
} satisfies Record<string, Setting>;

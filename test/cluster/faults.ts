// Faults of a chaos run, as a table: each is begun, lasts, is ended, and the run goes on once all answer again.
import { rmSync } from "node:fs";
import path from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { createKeyFigures, type KeyFigures } from "./key-judge.ts";
import { COUNT, type Kind, SMALL, type Stage } from "./stage.ts";
import { type LogServer, type ServiceNode, streamState, until } from "./parts.ts";

export interface Ground {
  readonly stage: Stage;
  readonly servers: readonly LogServer[];
  readonly nodes: readonly ServiceNode[];
  readonly random: () => number;
  /** Tells the readers which nodes the fault hits. */
  readonly hit: (nodes: readonly number[]) => void;
  /** Resolves once every node has acknowledged an outcome. */
  readonly acknowledge: () => Promise<void>;
  /** How long the cuts of a long fault last, in ms. */
  readonly cutMs: number;
  /** What became of keys in long faults. */
  readonly keys: KeyFigures;
}

/** Of a run without long faults. */
export const NO_CUTS = { cutMs: 0, keys: createKeyFigures() };

export interface Fault {
  readonly name: string;
  /** Needs cables and disks of the tool's own. */
  readonly isPrivate?: boolean;
  /** Lasts as long as a cut, and is left out of a run of every fault once. */
  readonly isLong?: boolean;
  /** While it acts no majority of the servers is there. */
  readonly takesMajority?: boolean;
  act(ground: Ground): Promise<void>;
}

const HOUR_MS = 3_600_000;
const DOWN_MS = 3000;
/** Longer than two missed pings, and than an election. */
const FROZEN_MS = 7000;
/** A server that says for so long that it is not well is restarted, as the probe of an init system would. */
const UNWELL_MS = 45_000;

export const pick = ({ random }: Ground) => Math.floor(random() * COUNT);

/** @throws Error while no server leads. */
export async function findLeader({ servers }: Ground): Promise<LogServer> {
  let at = -1;
  await until(async () => {
    at = (await streamState(servers))?.leader ?? -1;
    return at >= 0;
  }, "no server leads the log");
  return servers[at]!;
}

async function follower(ground: Ground): Promise<LogServer> {
  const { at } = await findLeader(ground);
  return ground.servers[(at + 1 + Math.floor(ground.random() * (COUNT - 1))) % COUNT]!;
}

async function killServer(server: LogServer, ms: number): Promise<void> {
  await server.end("SIGKILL");
  await wait(ms);
  server.start();
}

async function freeze(part: LogServer | ServiceNode, ms: number): Promise<void> {
  part.signal("SIGSTOP");
  await wait(ms);
  part.signal("SIGCONT");
}

async function cut({ stage }: Ground, { kind, at }: { kind: Kind; at: number }, ms: number) {
  stage.cut(kind, at);
  await wait(ms);
  stage.mend(kind, at);
}

/** Without room for `ms`. */
async function fill({ stage }: Ground, kind: Kind, ms: number): Promise<void> {
  await stage.fill(kind);
  await wait(ms);
  stage.empty(kind);
}

async function roll(ground: Ground, parts: readonly (LogServer | ServiceNode)[]): Promise<void> {
  for (const part of parts) {
    if (part.kind === "node") ground.hit([part.at]);
    await part.end("SIGTERM");
    part.start();
    await allWell(ground);
  }
}

export const FAULTS: readonly Fault[] = [
  {
    name: "server that leads killed",
    act: async (ground) => killServer(await findLeader(ground), DOWN_MS),
  },
  {
    name: "server that follows killed",
    act: async (ground) => killServer(await follower(ground), DOWN_MS),
  },
  {
    name: "two servers killed",
    takesMajority: true,
    act: async (ground) => {
      const spared = pick(ground);
      const others = ground.servers.filter(({ at }) => at !== spared);
      await Promise.all(others.map((server) => killServer(server, DOWN_MS)));
    },
  },
  {
    name: "all servers killed",
    takesMajority: true,
    act: async ({ servers }) => {
      await Promise.all(servers.map((server) => killServer(server, 500)));
    },
  },
  {
    name: "node killed",
    act: async (ground) => {
      const node = ground.nodes[pick(ground)]!;
      ground.hit([node.at]);
      await node.end("SIGKILL");
      await wait(1000);
      node.start();
    },
  },
  {
    name: "server and node killed, the node back first",
    act: async (ground) => {
      const node = ground.nodes[pick(ground)]!;
      ground.hit([node.at]);
      const server = ground.servers[pick(ground)]!;
      await Promise.all([server.end("SIGKILL"), node.end("SIGKILL")]);
      await wait(500);
      node.start();
      await wait(DOWN_MS);
      server.start();
    },
  },
  { name: "server that leads frozen", act: async (g) => freeze(await findLeader(g), FROZEN_MS) },
  { name: "server that follows frozen", act: async (g) => freeze(await follower(g), FROZEN_MS) },
  {
    name: "node frozen",
    act: async (ground) => {
      const node = ground.nodes[pick(ground)]!;
      ground.hit([node.at]);
      await freeze(node, 4000);
    },
  },
  {
    name: "server that leads cut off",
    isPrivate: true,
    act: async (ground) => cut(ground, await findLeader(ground), FROZEN_MS),
  },
  {
    name: "server that follows cut off",
    isPrivate: true,
    act: async (ground) => cut(ground, await follower(ground), FROZEN_MS),
  },
  {
    // It goes on answering: no read of it may fail.
    name: "node cut off from the log",
    isPrivate: true,
    act: async (ground) => cut(ground, { kind: "node", at: pick(ground) }, 5000),
  },
  {
    name: "disk of a server full",
    isPrivate: true,
    act: async (ground) => {
      await fill(ground, "server", 4000);
      // Out of room it leaves the log for good, and its copy may lack a message: an operator starts it anew.
      const server = ground.servers[SMALL]!;
      await server.end("SIGTERM");
      rmSync(path.join(ground.stage.disk("server", SMALL), "jetstream"), { recursive: true });
      server.start();
    },
  },
  {
    name: "disk of a node full",
    isPrivate: true,
    act: async (ground) => fill(ground, "node", 4000),
  },
  { name: "all servers restarted in turn", act: (ground) => roll(ground, ground.servers) },
  { name: "all nodes restarted in turn", act: (ground) => roll(ground, ground.nodes) },
  {
    name: "clock of a node wrong",
    act: async (ground) => {
      const node = ground.nodes[pick(ground)]!;
      node.skew((ground.random() < 0.5 ? -1 : 1) * HOUR_MS);
      await wait(3000);
      node.skew(0);
    },
  },
];

/**
 * nats-server 2.10 at times never resumes the catching up of a replica that was restarted while others were;
 * its own next start does.
 */
async function serverWell(server: LogServer): Promise<void> {
  const isWell = () => server.isWell();
  const sentence = `${server.name} does not come back`;
  try {
    await until(isWell, sentence, UNWELL_MS);
  } catch {
    server.unasked.push(`${server.name} not well for ${UNWELL_MS / 1000} s, restarted`);
    await server.end("SIGTERM");
    server.start();
    await until(isWell, `${sentence} after a restart`);
  }
}

/** Resolves once every server and node says that it is well, one leads, and every node acknowledges. */
export async function allWell({ servers, nodes, acknowledge }: Ground): Promise<void> {
  for (const server of servers) await serverWell(server);
  for (const node of nodes) await until(() => node.isWell(), `${node.name} does not come back`);
  await until(async () => (await streamState(servers)) !== undefined, "no server leads the log");
  await acknowledge();
}

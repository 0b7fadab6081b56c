// Long faults, during which the answers to API keys are judged: cuts in one direction or both, a node alone with a
// server, clocks that jump before a cut, processes that are frozen. They need cables of the tool's own.
import { setTimeout as wait } from "node:timers/promises";
import { type Fault, findLeader, type Ground, pick } from "./faults.ts";
import { type JudgedFault, KeyJudge } from "./key-judge.ts";
import { COUNT } from "./stage.ts";

const MINUTE_MS = 60_000;
/** Wrong clocks, in minutes. */
const CLOCK_MINUTES = [-50, -2, 2, 50] as const;
const ALL = Array.from({ length: COUNT }, (_, at) => at);

/** Plays one fault for as long as cuts last, while its keys are judged. */
async function judged(
  ground: Ground,
  fault: JudgedFault,
  begin: () => void | Promise<void>,
  mend: () => void | Promise<void>,
): Promise<void> {
  const { nodes, keys, cutMs, hit } = ground;
  const judge = new KeyJudge(
    nodes.map(({ url }) => url),
    fault,
    keys,
  );
  await judge.prepare();
  hit(fault.isolated);
  await begin();
  await judge.begin();
  await wait(cutMs);
  judge.end();
  await mend();
  await judge.close();
}

const others = (but: number) => ALL.filter((at) => at !== but);

/** Node and server `at` reach each other and nobody else. */
async function isolate(ground: Ground, name: string, server: number, skewMs = 0): Promise<void> {
  const { stage, nodes } = ground;
  const node = pick(ground);
  const fault = { name, isolated: [node], connected: others(node) };
  await judged(
    ground,
    fault,
    () => {
      if (skewMs !== 0) nodes[node]!.skew(skewMs);
      stage.isolate([
        { kind: "server", at: server },
        { kind: "node", at: node },
      ]);
    },
    () => {
      stage.rejoin();
      nodes[node]!.skew(0);
    },
  );
}

const CUTS: readonly Fault[] = [
  {
    name: "node alone with its server",
    act: (ground) => isolate(ground, "node alone with its server", pick(ground)),
  },
  {
    name: "node alone with the server that leads",
    act: async (ground) => {
      const { at } = await findLeader(ground);
      await isolate(ground, "node alone with the server that leads", at);
    },
  },
  ...CLOCK_MINUTES.map((minutes) => {
    const name = `node alone with its server, its clock ${minutes} minutes off`;
    const act = (ground: Ground) => isolate(ground, name, pick(ground), minutes * MINUTE_MS);
    return { name, act };
  }),
  {
    name: "server that leads is not heard by the other servers",
    act: async (ground) => {
      const { at } = await findLeader(ground);
      const name = "server that leads is not heard by the other servers";
      const drop = others(at).map((other) => [
        { kind: "server", at } as const,
        { kind: "server", at: other } as const,
      ]);
      await judged(
        ground,
        { name, isolated: [], connected: ALL },
        () => drop.forEach(([from, to]) => ground.stage.drop(from!, to!)),
        () => drop.forEach(([from, to]) => ground.stage.pass(from!, to!)),
      );
    },
  },
  {
    name: "server that leads does not hear the other servers",
    act: async (ground) => {
      const { at } = await findLeader(ground);
      const name = "server that leads does not hear the other servers";
      const drop = others(at).map((other) => [
        { kind: "server", at: other } as const,
        { kind: "server", at } as const,
      ]);
      await judged(
        ground,
        { name, isolated: [], connected: ALL },
        () => drop.forEach(([from, to]) => ground.stage.drop(from!, to!)),
        () => drop.forEach(([from, to]) => ground.stage.pass(from!, to!)),
      );
    },
  },
  {
    name: "node is not heard by the servers",
    act: (ground) => dropNode(ground, "node is not heard by the servers", false),
  },
  {
    name: "node does not hear the servers",
    act: (ground) => dropNode(ground, "node does not hear the servers", true),
  },
  {
    name: "two servers killed for long",
    takesMajority: true,
    act: async (ground) => {
      const spared = pick(ground);
      const killed = ground.servers.filter(({ at }) => at !== spared);
      await judged(
        ground,
        { name: "two servers killed for long", isolated: ALL, connected: [] },
        async () => {
          await Promise.all(killed.map((server) => server.end("SIGKILL")));
        },
        () => killed.forEach((server) => server.start()),
      );
    },
  },
  {
    name: "node frozen for long",
    act: async (ground) => {
      const node = pick(ground);
      const frozen = ground.nodes[node]!;
      // What was sent to it is answered when it goes on: by then it may be fresh, and the revocation counts.
      const fault = { name: "node frozen for long", isolated: [], connected: others(node) };
      await judged(
        ground,
        fault,
        () => {
          ground.hit([node]);
          frozen.signal("SIGSTOP");
        },
        () => frozen.signal("SIGCONT"),
      );
    },
  },
  {
    name: "server that leads frozen for long",
    act: async (ground) => {
      const server = await findLeader(ground);
      const fault = { name: "server that leads frozen for long", isolated: [], connected: ALL };
      await judged(
        ground,
        fault,
        () => server.signal("SIGSTOP"),
        () => server.signal("SIGCONT"),
      );
    },
  },
];

export const LONG_FAULTS = CUTS.map((fault) => ({ ...fault, isPrivate: true, isLong: true }));

async function dropNode(ground: Ground, name: string, isDeaf: boolean): Promise<void> {
  const node = pick(ground);
  const own = { kind: "node", at: node } as const;
  const paths = ALL.map((at) => {
    const server = { kind: "server", at } as const;
    return isDeaf ? ([server, own] as const) : ([own, server] as const);
  });
  await judged(
    ground,
    { name, isolated: [node], connected: others(node) },
    () => paths.forEach(([from, to]) => ground.stage.drop(from, to)),
    () => paths.forEach(([from, to]) => ground.stage.pass(from, to)),
  );
}

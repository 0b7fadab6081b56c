// The Helm chart as a cluster: what its nodes are told is what the service takes and what its servers are, a real
// server runs from the file it renders, and no two servers go together.
import { execFileSync, spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Ajv } from "ajv";
import { afterAll, describe, expect, test } from "vitest";
import { parseServeConfig } from "../../src/service/settings/config.ts";
import { NATS_SERVER } from "../stream/_nats.ts";
import {
  type ChartObject,
  complaintsOf,
  layered,
  openRenderer,
  read,
  VALUES,
  type Values,
  RENDERER,
} from "./_chart.ts";
import { ROOT } from "./_read-only.ts";
import { needs } from "../_needs.ts";

const KEYS = { adminKey: { existingSecret: "admin" } };
const cluster = (changes: Values = {}): Values => ({
  ...KEYS,
  cluster: layered(
    {
      enabled: true,
      bureauKey: { existingSecret: "bureau" },
      tls: { serverSecret: "log-tls", nodeSecret: "node-tls" },
    },
    changes,
  ),
});
const isValid = new Ajv({ allowUnionTypes: true }).compile(
  JSON.parse(read("values.schema.json")) as object,
);
const taken = (changes: Values) => isValid(layered(VALUES, changes));

test("asks for the keys that all nodes share", () => {
  expect(taken(cluster()), JSON.stringify(isValid.errors)).toBe(true);
  expect(taken({ cluster: { enabled: true } })).toBe(false);
  expect(taken({ ...cluster(), adminKey: { existingSecret: "" } })).toBe(false);
  expect(taken(cluster({ bureauKey: { existingSecret: "" } }))).toBe(false);
  expect(taken(cluster({ tls: { serverSecret: "" } }))).toBe(false);
  expect(taken(cluster({ tls: { nodeSecret: "" } }))).toBe(false);
  expect(taken(cluster({ nodes: 1 }))).toBe(false);
  expect(taken(cluster({ log: { image: "nats" } }))).toBe(false);
  expect(taken({ ...cluster(), settings: { cluster_node: "a" } })).toBe(false);
});

describe("rendered", RENDERER, () => {
  const renderer = RENDERER.skip ? undefined : openRenderer();
  afterAll(() => renderer?.remove());
  const render = (changes: Values = {}) => renderer!.render(cluster(changes)).objects;
  const named = (objects: ChartObject[], kind: string, name: string) =>
    objects.find((each) => each.kind === kind && each.metadata.name === name)!;
  const nodes = (objects: ChartObject[]) => named(objects, "StatefulSet", "bureau-trustrank").spec;
  const log = (objects: ChartObject[]) =>
    named(objects, "StatefulSet", "bureau-trustrank-log").spec;

  test("is what Kubernetes' API takes", () => {
    const whole = render();
    expect(complaintsOf(whole)).toBe("");
    log(whole).replicas = "3";
    expect(complaintsOf(whole)).toContain("'string' is not assignable to type 'number'");
  });

  test("tells its nodes of the servers that there are", () => {
    const objects = render({ nodes: 5, streamGb: 8 });
    const { replicas, template, podManagementPolicy } = nodes(objects);
    expect([replicas, podManagementPolicy]).toEqual([5, "Parallel"]);
    const given = template.spec.containers[0].env as { name: string; value?: string }[];
    const environment = Object.fromEntries(
      given.map(({ name, value = "bureau-trustrank-0" }) => [name, value]),
    );
    delete environment["TRUSTRANK_CONFIG"];
    delete environment["TRUSTRANK_ADMIN_KEY_FILE"];
    const { cluster: told } = parseServeConfig({ sample: false }, environment);
    const set = log(objects);
    const hosts = [0, 1, 2].map((index) => `bureau-trustrank-log-${index}.${set.serviceName}`);
    expect(set.replicas).toBe(3);
    expect(told).toMatchObject({
      servers: hosts.map((host) => `${host}:4222`),
      monitors: hosts.map((host) => `http://${host}:8222`),
      node: "bureau-trustrank-0",
      streamBytesMax: 8 * 2 ** 30,
      tls: { caFile: "/run/secrets/log/ca.crt" },
    });
    const { ports } = set.template.spec.containers[0];
    expect(ports.map(({ containerPort }: { containerPort: number }) => containerPort)).toEqual([
      4222, 8222, 6222,
    ]);
  });

  test("mounts every volume, and the signing key where the first start takes it from", () => {
    const objects = render();
    for (const { template, volumeClaimTemplates } of [nodes(objects), log(objects)]) {
      const { initContainers = [], containers, volumes } = template.spec;
      const mounts = [...initContainers, ...containers].flatMap(
        ({ volumeMounts }: { volumeMounts: { name: string }[] }) =>
          volumeMounts.map(({ name }) => name),
      );
      const there = [...volumes, ...volumeClaimTemplates.map((each: ChartObject) => each.metadata)];
      expect([...new Set<string>(mounts)].toSorted()).toEqual(
        there.map(({ name }: { name: string }) => name).toSorted(),
      );
    }
    const [init] = nodes(objects).template.spec.initContainers;
    const places = init.volumeMounts.map(({ mountPath }: { mountPath: string }) => mountPath);
    for (const place of places) expect(init.command.at(-1)).toContain(`${place}/bureau.key`);
  });

  test("loses one server at a time, and restarts one that stays unwell", () => {
    const objects = render();
    const { affinity, containers } = log(objects).template.spec;
    const [rule] = affinity.podAntiAffinity.requiredDuringSchedulingIgnoredDuringExecution;
    const { labels } = log(objects).template.metadata;
    expect(labels).toMatchObject(rule.labelSelector.matchLabels);
    const { livenessProbe: probe } = containers[0];
    expect(probe.httpGet).toEqual({ path: "/healthz", port: "monitor" });
    expect(probe.periodSeconds * probe.failureThreshold).toBe(60);
    const budgets = objects.filter(({ kind }) => kind === "PodDisruptionBudget");
    expect(budgets.map(({ spec }) => spec.maxUnavailable)).toEqual([1, 1]);
    // No selector of the nodes takes a server for a node, nor the other way round.
    const ofNodes = nodes(objects).template.metadata.labels;
    for (const { kind, metadata, spec } of objects) {
      const selector = kind === "Service" ? spec.selector : spec?.podSelector?.matchLabels;
      if (selector === undefined) continue;
      const own = metadata.name.endsWith("-log") ? labels : ofNodes;
      const others = own === labels ? ofNodes : labels;
      expect(own).toMatchObject(selector);
      expect(others).not.toMatchObject(selector);
    }
  });

  test("lets nodes to the log and to names, and servers to one another", () => {
    const objects = render();
    const egress = named(objects, "NetworkPolicy", "bureau-trustrank").spec.egress as {
      ports: { port: number }[];
    }[];
    expect(egress.map(({ ports }) => ports.map(({ port }) => port))).toEqual([
      [53, 53],
      [4222, 8222],
    ]);
    const { ingress } = named(objects, "NetworkPolicy", "bureau-trustrank-log").spec;
    expect(ingress[0].from[0].podSelector.matchLabels).toEqual(nodes(objects).selector.matchLabels);
    expect(ingress[1].from[0].podSelector.matchLabels).toEqual(log(objects).selector.matchLabels);
  });

  test("has a file that the server takes", needs("nats-server", "openssl"), () => {
    const folder = mkdtempSync(join(tmpdir(), "trustrank-chart-log-"));
    try {
      execFileSync("bash", [join(ROOT, "deploy/cluster-secrets.sh"), folder]);
      const files = { "ca.crt": "ca.pem", "tls.crt": "server.pem", "tls.key": "server.key" };
      let text = named(render(), "ConfigMap", "bureau-trustrank-log").data!["server.conf"]!;
      for (const [name, made] of Object.entries(files)) {
        text = text.replaceAll(`/run/secrets/log/${name}`, join(folder, made));
      }
      expect(text).toContain("sync_interval: always");
      expect(Number(/max_file: (\d+)$/m.exec(text)![1])).toBeGreaterThan(16 * 2 ** 30);
      const file = join(folder, "server.conf");
      writeFileSync(file, text);
      const env = { ...process.env, SERVER_NAME: "log-0" };
      const { stderr, status } = spawnSync(NATS_SERVER!, ["-t", "-c", file], { env });
      expect([status, stderr.toString()]).toEqual([0, expect.stringContaining("is valid")]);
    } finally {
      rmSync(folder, { recursive: true });
    }
  });

  test("lets in the clients and routes that the servers' file of compose lets in", () => {
    const chart = named(render(), "ConfigMap", "bureau-trustrank-log").data!["server.conf"]!;
    const pattern = /verify\w*: true|users: \[.*\]/g;
    const containers = readFileSync(join(ROOT, "deploy/nats/server.conf"), "utf8");
    expect(chart.match(pattern)).toEqual(containers.match(pattern));
    expect(chart.match(pattern)).toHaveLength(3);
  });
});

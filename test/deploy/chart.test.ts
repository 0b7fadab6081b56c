// The Helm chart against the service, the image and its own schema: same paths, ports, user and settings,
// and nothing that its own parts do not agree on.
import { readFileSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Ajv } from "ajv";
import { afterAll, describe, expect, test } from "vitest";
import manifest from "../../package.json" with { type: "json" };
import { ROUTES } from "../../src/http/routes/table.ts";
import { parseServeConfig } from "../../src/service/settings/config.ts";
import {
  layerSettings as layeredSettings,
  convertToSnakeCase,
} from "../../src/service/settings/config-file.ts";
import { SETTINGS } from "../../src/service/settings/settings.ts";
import type { Setting } from "../../src/service/settings/setting-kinds.ts";
import {
  ABOUT,
  type ChartObject,
  complaintsOf,
  layered,
  openRenderer,
  read,
  VALUES,
  type Values,
  RENDERER,
} from "./_chart.ts";
import { ROOT, UID } from "./_read-only.ts";

const DOCKERFILE = readFileSync(join(ROOT, "deploy/Dockerfile"), "utf8");
const imageValue = (name: string) => new RegExp(`\\b${name}[= ](\\S+)`).exec(DOCKERFILE)?.[1];
const isValid = new Ajv({ allowUnionTypes: true }).compile(
  JSON.parse(read("values.schema.json")) as object,
);
const taken = (changes: Values) => isValid(layered(VALUES, changes));

test("has the version of the service", () => {
  expect(ABOUT).toMatchObject({ appVersion: manifest.version, apiVersion: "v2" });
});

describe("its values", () => {
  test("are those that its schema knows", () => {
    expect(taken({}), JSON.stringify(isValid.errors)).toBe(true);
    const schema = JSON.parse(read("values.schema.json")) as { properties: Values };
    const known = Object.keys(schema.properties).filter((name) => name !== "global");
    expect(known.toSorted()).toEqual(Object.keys(VALUES).toSorted());
  });

  test.each<[string, Values]>([
    ["a name that is none", { replicas: 2 }],
    ["peers that would be everybody", { networkPolicy: { from: [] } }],
    ["a peer that would be everybody", { networkPolicy: { metricsFrom: [{}] } }],
    ["a volume of several nodes", { persistence: { accessMode: "ReadWriteMany" } }],
    ["a size that is none", { persistence: { size: "lots" } }],
    ["a setting that the chart has itself", { settings: { data_dir: "/x" } }],
    ["a secret in a map that all may read", { settings: { admin_key: "x".repeat(40) } }],
    ["a setting of another shape", { settings: { seeds: { keys: true } } }],
  ])("are refused: %s", (_, changes) => expect(taken(changes)).toBe(false));

  test("may be changed", () => {
    const settings = { decisions_kept_days: 30, seeds: ["keys", "earliest"], sample: true };
    expect(taken({ settings, networkPolicy: { from: [{ ipBlock: { cidr: "0.0.0.0/0" } }] } })).toBe(
      true,
    );
  });
});

describe("rendered", RENDERER, () => {
  const renderer = RENDERER.skip ? undefined : openRenderer();
  afterAll(() => renderer?.remove());
  const render = (changes?: Values) => renderer!.render(changes).objects;
  const oneOf = (objects: ChartObject[], kind: string): ChartObject =>
    objects.find((each) => each.kind === kind)!;
  const podOf = (objects: ChartObject[]) => oneOf(objects, "StatefulSet").spec.template;
  const containerOf = (objects: ChartObject[]) => podOf(objects).spec.containers[0];

  test("has its objects, and those that are asked for", () => {
    const kinds = (changes?: Values) =>
      render(changes)
        .map(({ kind }) => kind)
        .toSorted();
    const base = ["ConfigMap", "Service", "Service", "ServiceAccount", "StatefulSet"];
    const all = [...base, "NetworkPolicy", "PodDisruptionBudget"];
    const without = { enabled: false };
    expect(kinds()).toEqual(all.toSorted());
    expect(kinds({ networkPolicy: without, podDisruptionBudget: without })).toEqual(base);
    const monitored = kinds({ serviceMonitor: { enabled: true, labels: { team: "trust" } } });
    expect(monitored).toEqual([...all, "ServiceMonitor"].toSorted());
  });

  test("is what Kubernetes' API takes, and a member that it does not have is found", () => {
    const peers = { networkPolicy: { egress: [{ to: [{ ipBlock: { cidr: "10.0.0.0/8" } }] }] } };
    const extra = { extraEnv: [{ name: "A", value: "b" }], tolerations: [{ operator: "Exists" }] };
    const objects = render({ adminKey: { existingSecret: "k" }, ...peers, ...extra });
    expect(complaintsOf(objects)).toBe("");
    const wrong = structuredClone(objects);
    containerOf(wrong).startupProbe.failureTreshold = 3;
    oneOf(wrong, "StatefulSet").spec.replicas = "1";
    const found = complaintsOf(wrong);
    expect(found).toMatch(/failureTreshold"?' does not exist in type 'IProbe'/);
    expect(found).toContain("'string' is not assignable to type 'number'");
  });

  test("asks the service's own probes, which need no key, on the image's port", () => {
    const { ports, startupProbe, livenessProbe, readinessProbe } = containerOf(render());
    const open = new Set(ROUTES.filter(({ access }) => access === "none").map(({ path }) => path));
    for (const { httpGet } of [startupProbe, livenessProbe, readinessProbe]) {
      expect(open).toContain(httpGet.path);
      expect(httpGet.port).toBe("http");
    }
    const [http, metrics] = ports;
    expect(String(http.containerPort)).toBe(imageValue("TRUSTRANK_PORT"));
    expect(String(http.containerPort)).toBe(imageValue("EXPOSE"));
    expect(startupProbe.periodSeconds * startupProbe.failureThreshold).toBe(600);
    const env = Object.fromEntries(
      containerOf(render()).env.map(({ name, value }: { name: string; value: string }) => [
        name,
        value,
      ]),
    );
    expect(env["TRUSTRANK_METRICS_LISTEN"]).toBe(`0.0.0.0:${metrics.containerPort}`);
  });

  test("names settings that exist, and a file of them that the service takes", () => {
    const settings = { decisions_kept_days: 30, seeds: ["keys", "earliest"], kaizen: false };
    const objects = render({ adminKey: { existingSecret: "keys" }, settings });
    const variables = new Set(
      Object.values<Setting>(SETTINGS).flatMap(({ variables: names, isSecret }) =>
        names.flatMap((name) => (isSecret === true ? [name, `${name}_FILE`] : [name])),
      ),
    );
    const names = containerOf(objects).env.map(({ name }: { name: string }) => name);
    expect(names.filter((name: string) => !variables.has(name))).toEqual([]);
    const folder = mkdtempSync(join(tmpdir(), "trustrank-chart-settings-"));
    try {
      const file = join(folder, "trustrank.yaml");
      writeFileSync(file, oneOf(objects, "ConfigMap").data!["trustrank.yaml"]!);
      const { environment } = layeredSettings({}, file);
      expect(parseServeConfig({ sample: true }, environment)).toMatchObject({
        decisionsKeptDays: 30,
        isKaizenScheduled: false,
        isSampleWanted: false,
      });
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
    const schema = JSON.parse(read("values.schema.json")) as {
      properties: { settings: { propertyNames: { not: { enum: string[] } } } };
    };
    const kept = schema.properties.settings.propertyNames.not.enum;
    const known = new Set(Object.keys(SETTINGS).map(convertToSnakeCase));
    expect(kept.filter((name) => !known.has(name))).toEqual([]);
  });

  test("runs as the image's user, and writes to its volume and to /tmp alone", () => {
    const objects = render({ adminKey: { existingSecret: "keys", key: "k" } });
    const { spec } = podOf(objects);
    const { securityContext, volumeMounts } = containerOf(objects);
    expect(spec.securityContext).toMatchObject({ runAsUser: UID, runAsGroup: UID, fsGroup: UID });
    expect(imageValue("USER")).toBe(`${UID}:${UID}`);
    expect(securityContext).toMatchObject({
      readOnlyRootFilesystem: true,
      allowPrivilegeEscalation: false,
      capabilities: { drop: ["ALL"] },
    });
    const mounts = volumeMounts as { name: string; mountPath: string; readOnly?: boolean }[];
    const writable = mounts.filter(({ readOnly }) => readOnly !== true);
    expect(writable.map(({ mountPath }) => mountPath)).toEqual([imageValue("VOLUME"), "/tmp"]);
    const claims = oneOf(objects, "StatefulSet").spec.volumeClaimTemplates as ChartObject[];
    const volumes = [...spec.volumes, ...claims.map(({ metadata }) => metadata)];
    expect(volumes.map(({ name }: { name: string }) => name).toSorted()).toEqual(
      mounts.map(({ name }) => name).toSorted(),
    );
    const secret = spec.volumes.find(({ name }: { name: string }) => name === "admin-key").secret;
    expect(secret).toMatchObject({ secretName: "keys", items: [{ key: "k", path: "admin-key" }] });
  });

  test.each<[string, Values, string[] | undefined, number]>([
    ["by default", {}, ["sleep", "5"], 25],
    ["with another window", { settings: { drain_ms: 30_500 } }, ["sleep", "5"], 51],
    ["with neither", { settings: { drain_ms: 0 }, shutdown: { preStopSeconds: 0 } }, undefined, 15],
  ])("waits before it is ended, and has the time to end: %s", (_, changes, command, seconds) => {
    const objects = render(changes);
    expect(containerOf(objects).lifecycle?.preStop.exec.command).toEqual(command);
    expect(podOf(objects).spec.terminationGracePeriodSeconds).toBe(seconds);
  });

  test("is one process, whose selectors meet its own pod and no other release's", () => {
    const objects = render({ serviceMonitor: { enabled: true }, podAnnotations: { note: "a: b" } });
    const set = oneOf(objects, "StatefulSet").spec;
    expect(set.replicas).toBe(1);
    const { labels, annotations } = set.template.metadata;
    expect(annotations).toMatchObject({ note: "a: b" });
    const services = objects.filter(({ kind }) => kind === "Service");
    expect(services.map(({ metadata }) => metadata.name)).toContain(set.serviceName);
    const selectors = [
      set.selector.matchLabels,
      oneOf(objects, "PodDisruptionBudget").spec.selector.matchLabels,
      oneOf(objects, "NetworkPolicy").spec.podSelector.matchLabels,
      ...services.map(({ spec }) => spec.selector),
    ];
    for (const selector of selectors) {
      expect(labels).toMatchObject(selector);
      expect(selector["app.kubernetes.io/instance"]).toBe("bureau");
    }
    const ports = new Set(containerOf(objects).ports.map(({ name }: { name: string }) => name));
    const named = [
      ...services.flatMap(({ spec }) =>
        spec.ports.map((port: { targetPort: string }) => port.targetPort),
      ),
      ...oneOf(objects, "NetworkPolicy").spec.ingress.flatMap(
        (rule: { ports: { port: string }[] }) => rule.ports.map(({ port }) => port),
      ),
    ];
    expect(named.filter((name: string) => !ports.has(name))).toEqual([]);
    // The monitor finds one service, and a port of it.
    const { selector, endpoints } = oneOf(objects, "ServiceMonitor").spec;
    const found = services.filter(({ metadata }) =>
      Object.entries(selector.matchLabels).every(
        ([name, value]) => metadata.labels[name] === value,
      ),
    );
    expect(found.map(({ spec }) => spec.ports[0].name)).toEqual([endpoints[0].port]);
  });

  test("starts anew when its settings change, and not for a label", () => {
    const hashOf = (changes?: Values) =>
      podOf(render(changes)).metadata.annotations["trustrank/settings"];
    expect(hashOf()).toMatch(/^[0-9a-f]{64}$/);
    expect(hashOf({ service: { port: 80 } })).toBe(hashOf());
    expect(hashOf({ settings: { kaizen: false } })).not.toBe(hashOf());
  });

  test("says where the service is, and where its first key", () => {
    const { notes } = renderer!.render();
    expect(notes).toContain("http://bureau-trustrank.trust:8080");
    expect(notes).toContain("grep 'admin key'");
    expect(notes).toContain("http://127.0.0.1:8080/console");
    expect(notes).toContain("-n trust port-forward service/bureau-trustrank 8080:8080");
    expect(renderer!.render({ adminKey: { existingSecret: "k" } }).notes).not.toContain(
      "admin key",
    );
  });
});

// The examples of Traefik, Kong and APISIX against schemas of what those take, and against themselves:
// every name that they use is one that they give.
import { readFile } from "node:fs/promises";
import { expect, it } from "vitest";
import { parse } from "yaml";
import type { ApisixConfig, TraefikConfig } from "./_forward-auth.ts";
import type { KongConfig } from "./_kong.ts";
import { refusalsOf } from "./_schemas.ts";

async function exampleOf(name: string): Promise<unknown> {
  return parse(await readFile(new URL(`../../examples/gateways/${name}`, import.meta.url), "utf8"));
}

it("Traefik takes traefik.yaml", async () => {
  const config = (await exampleOf("traefik.yaml")) as TraefikConfig;
  expect(refusalsOf("traefik", config)).toEqual([]);
  const { middlewares, routers, services } = config.http;
  for (const { middlewares: names, service } of Object.values(routers)) {
    expect(names.filter((name) => !(name in middlewares))).toEqual([]);
    expect(services).toHaveProperty(service);
  }
  const misnamed = { ask: { forwardAuth: { uri: "http://127.0.0.1/" } } };
  const wrong = { http: { ...config.http, middlewares: misnamed } };
  expect(refusalsOf("traefik", wrong).join()).toContain("/http/middlewares/ask");
});

it("Kong takes kong.yaml, whose routes have a tool level each or the strictest", async () => {
  const config = (await exampleOf("kong.yaml")) as KongConfig;
  expect(refusalsOf("kong", config)).toEqual([]);
  const [service] = config.services;
  expect(service?.routes.map(({ name, tags }) => [name, tags])).toEqual([
    ["public", ["trust-L0"]],
    ["info", ["trust-L1"]],
    ["edit", ["trust-L2"]],
    ["everything-else", undefined],
  ]);
  const code = service?.plugins.find(({ name }) => name === "post-function")?.config;
  expect([code?.access.length, code?.header_filter.length]).toEqual([1, 1]);
  expect(refusalsOf("kong", { ...config, plugin: [] })).not.toEqual([]);
});

it("APISIX takes apisix.yaml, which waits 100 ms", async () => {
  const config = (await exampleOf("apisix.yaml")) as ApisixConfig;
  expect(refusalsOf("apisix", config)).toEqual([]);
  const idsOf = (list: { id: string }[]) => list.map(({ id }) => id);
  for (const { plugin_config_id: plugins, upstream_id: upstream } of config.routes) {
    expect(idsOf(config.plugin_configs)).toContain(plugins);
    expect(idsOf(config.upstreams)).toContain(upstream);
  }
  const limits = config.plugin_configs.map(({ plugins }) => plugins["forward-auth"].timeout);
  expect(limits).toEqual([100, 100]);
  expect(refusalsOf("apisix", { ...config, routes: [{ id: "a", uris: "/*" }] })).not.toEqual([]);
});

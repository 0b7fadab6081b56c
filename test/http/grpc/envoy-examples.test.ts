// Envoy's two examples, which no Envoy runs here: their text against Envoy's published API, the
// identity they take, and the questions they would ask put to the service. And our subset of the
// API against the same table.
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import protobuf from "protobufjs";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { parse } from "yaml";
import { CALLER_BY_PRINCIPAL } from "../../../src/http/grpc/caller.ts";
import { type ExtAuthzServer, listenExtAuthz } from "../../../src/http/grpc/server.ts";
import { openTestServer, type TestServer } from "../_setup.ts";
import { connect, MESSAGES } from "./_envoy.ts";
import { misfits } from "./_envoy-config.ts";

const ROOT = new URL("../../../", import.meta.url);
const textOf = (name: string) => readFileSync(new URL(`examples/gateways/${name}`, ROOT), "utf8");
const NAMES = ["envoy.yaml", "envoy-grpc.yaml"];
const BOOTSTRAP = "envoy.config.bootstrap.v3.Bootstrap";

// A configuration is what it is: the tests look into it freely.
// oxlint-disable-next-line typescript/no-explicit-any
type Config = any;

const configOf = (name: string): Config => parse(textOf(name));
const chainOf = (config: Config) => config.static_resources.listeners[0].filter_chains[0];
const managerOf = (config: Config) => chainOf(config).filters[0].typed_config;
const filterOf = (config: Config, name: string) =>
  managerOf(config).http_filters.find((filter: Config) => filter.name === name).typed_config;

describe.each(NAMES)("%s", (name) => {
  const config = configOf(name);

  it("fits Envoy's API", () => {
    expect(misfits(BOOTSTRAP, config)).toEqual([]);
  });

  it.each([
    ["a member that there is not", "require_client_certificate:", "require_client_cert:"],
    [
      "a value of another kind",
      "require_client_certificate: true",
      "require_client_certificate: 1",
    ],
    ["a word that an enum lacks", "san_type: URI", "san_type: URL"],
    ["a duration without its unit", "timeout: 0.1s", "timeout: 0.1"],
    ["a single value for a list", 'domains: ["*"]', 'domains: "*"'],
    ["a filter of another name", "ext_authz.v3.ExtAuthz\n", "ext_authz.v3.ExtAuth\n"],
  ])("with %s would not", (_, right, wrong) => {
    expect(textOf(name)).toContain(right);
    expect(misfits(BOOTSTRAP, parse(textOf(name).replace(right, wrong)))).toHaveLength(1);
  });

  it("lets nobody in without a certificate of a known issuer that names one of its agents", () => {
    const tls = chainOf(config).transport_socket.typed_config;
    const { validation_context: validation } = tls.common_tls_context;
    expect(tls.require_client_certificate).toBe(true);
    expect(validation.trusted_ca.filename).toMatch(/\.pem$/);
    expect(validation.match_typed_subject_alt_names).toEqual([
      { san_type: "URI", matcher: { prefix: "agent://acme/" } },
    ]);
  });

  it("drops every header of ours that a client may have sent, before it asks", () => {
    const filters = managerOf(config).http_filters.map((filter: Config) => filter.name);
    expect(filters[0]).toBe("identity");
    const mutations: Config[] = filterOf(config, "identity").mutations.request_mutations;
    const words =
      "agent-id effective verdict reason score tier risk enforced request-id review flagged";
    const removed = mutations.flatMap(({ remove }) => remove ?? []);
    expect(removed).toEqual(words.split(" ").map((word) => `x-trust-${word}`));
    // Removed first: a value that is empty would leave the client's own in place.
    const set = mutations.findLastIndex(({ append }) => append !== undefined);
    expect(set).toBe(name === "envoy.yaml" ? removed.length : -1);
  });

  it("switches one of two filters off on every route, the closed one on `/`", () => {
    const routes: Config[] = managerOf(config).route_config.virtual_hosts[0].routes;
    const off = routes.map(({ match, typed_per_filter_config: filters }) => [
      match.prefix,
      Object.keys(filters).filter((filter) => filters[filter].disabled === true),
    ]);
    for (const [prefix, filters] of off) {
      expect(filters).toEqual(prefix === "/info/" ? ["trust_closed"] : ["trust_open"]);
    }
    expect(off.at(-1)?.[0]).toBe("/");
    const open = filterOf(config, "trust_open");
    const closed = filterOf(config, "trust_closed");
    expect([open.failure_mode_allow, closed.failure_mode_allow]).toEqual([true, false]);
    expect(closed.status_on_error).toEqual({ code: "ServiceUnavailable" });
  });
});

it("envoy.yaml names the agent by the certificate's URI alone", () => {
  const mutations: Config[] = filterOf(configOf("envoy.yaml"), "identity").mutations
    .request_mutations;
  expect(mutations.at(-1)).toEqual({
    append: {
      header: { key: "x-trust-agent-id", value: "%DOWNSTREAM_PEER_URI_SAN%" },
      append_action: "OVERWRITE_IF_EXISTS_OR_ADD",
    },
  });
});

describe("envoy-grpc.yaml asks", () => {
  const config = configOf("envoy-grpc.yaml");
  const routes: Config[] = managerOf(config).route_config.virtual_hosts[0].routes;
  let service: TestServer;
  let grpc: ExtAuthzServer;
  beforeAll(async () => {
    service = await openTestServer("node");
    const { server } = service;
    grpc = await listenExtAuthz({
      host: "127.0.0.1",
      port: 0,
      source: CALLER_BY_PRINCIPAL,
      ask: (head, peer) => server.ask(head, peer),
      systemClock: Date.now,
      logger: { info: () => undefined, warn: () => undefined, error: () => undefined },
    });
  });
  afterAll(async () => {
    await grpc.close(1000);
    await service.stop();
  });

  it.each([
    ["/info/", "trust_open"],
    ["/files/", "trust_closed"],
    ["/", "trust_closed"],
  ])("for %s by %s, and gets a verdict", async (prefix, filter) => {
    const route = routes.find(({ match }) => match.prefix === prefix);
    const settings = route.typed_per_filter_config[filter]?.check_settings;
    const given: Config[] = filterOf(config, filter).grpc_service.initial_metadata;
    const metadata = Object.fromEntries(
      given.map(({ key, value }) => [key, value.replace("YOUR_TRUSTRANK_KEY", service.key)]),
    );
    const client = connect(grpc.port);
    const ask = (agent: string) =>
      client.check(
        {
          attributes: {
            source: { principal: `agent://test/${agent}` },
            request: { http: { method: "GET" } },
            context_extensions: settings?.context_extensions ?? {},
          },
        },
        { metadata },
      );
    expect((await ask("connect")).code).toBe(0);
    const challenged = await ask("verify");
    expect(challenged.httpStatus).toBe(prefix === "/files/" ? 401 : 403);
    expect(challenged.metadata["verdict"]).toBe("CHALLENGE");
    expect((await ask("refuse")).httpStatus).toBe(403);
    client.close();
  });
});

describe("our subset of the API", () => {
  const file = new URL("src/http/grpc/ext_authz.proto", ROOT);
  const root = protobuf.loadSync(fileURLToPath(file), new protobuf.Root());
  root.resolveAll();
  const own = root.lookup("envoy.service.auth.v3") as protobuf.Namespace;
  const ELSEWHERE: Readonly<Record<string, string>> = {
    Status: "google.rpc.Status",
    HttpStatus: "envoy.type.v3.HttpStatus",
    HeaderValueOption: "envoy.config.core.v3.HeaderValueOption",
    HeaderValue: "envoy.config.core.v3.HeaderValue",
  };
  const published = (name: string) => ELSEWHERE[name] ?? `envoy.service.auth.v3.${name}`;
  /** The enum of statuses is its number on the wire. */
  const AS_NUMBER = "envoy.type.v3.StatusCode";

  function typesIn(space: protobuf.NamespaceBase, prefix = ""): [string, protobuf.Type][] {
    return space.nestedArray.flatMap((each) => {
      if (!(each instanceof protobuf.Type)) return [];
      const name = prefix + each.name;
      return [[name, each] as [string, protobuf.Type], ...typesIn(each, `${name}.`)];
    });
  }

  it("has Envoy's names, numbers and types", () => {
    const types = typesIn(own);
    expect(types).toHaveLength(12);
    for (const [name, type] of types) {
      const theirs = MESSAGES.get(published(name))!;
      for (const field of type.fieldsArray) {
        const { id, repeated, map } = field;
        const fieldName = field.name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
        const resolved = field.resolvedType?.fullName.slice(1) ?? field.type;
        const mine = resolved.replace("envoy.service.auth.v3.", "");
        const isOurs = types.some(([each]) => each === mine);
        const known = theirs.get(fieldName)!;
        expect([name, fieldName, known]).toEqual([
          name,
          fieldName,
          {
            id,
            type: known.type === AS_NUMBER ? AS_NUMBER : isOurs ? published(mine) : resolved,
            isRepeated: repeated,
            isMap: map,
          },
        ]);
        if (known.type === AS_NUMBER) expect(field.type).toBe("int32");
      }
    }
  });
});

// Names of callers: which ones are agents, and which settings say where they come from.
import { expect, it } from "vitest";
import { parseAgentFromUri, parseCallerSource } from "../../../src/http/grpc/caller.ts";

it.each([
  ["agent://acme/shop", "agent://acme/shop"],
  ["spiffe://acme.example/ns/prod/sa/shop", "agent://acme.example/ns/prod/sa/shop"],
  ["CN=agent://acme/shop,O=acme", undefined],
  ["https://acme.example/shop", undefined],
  ["shop.acme.example", undefined],
  ["SPIFFE://acme.example/shop", undefined],
  ["", undefined],
])("the name %j is the agent %j", (name, agent) => {
  expect(parseAgentFromUri(name)).toBe(agent);
});

it.each(["header:", "header:X-Agent", "header::path", "subject", "header:a b"])(
  "%j is no source of a name",
  (text) => {
    expect(() => parseCallerSource(text)).toThrow(RangeError);
  },
);

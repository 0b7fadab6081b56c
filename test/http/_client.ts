// Small HTTP client for the suites: JSON in, status, headers and parsed body out.
import type { Problem } from "../../src/contract/schemas/service.ts";
import type { TestServer } from "./_setup.ts";

export interface Answer {
  status: number;
  headers: Headers;
  text: string;
  // What a route answers is what the tests are about: they look into it freely.
  // oxlint-disable-next-line typescript/no-explicit-any
  json: any;
}

export interface CallOptions {
  method?: string;
  /** Null: no key at all. */
  key?: string | null;
  headers?: Record<string, string>;
  body?: unknown;
  /** Sent as they are, instead of `body`. */
  bytes?: Uint8Array<ArrayBuffer> | string;
}

/** Calls a route; `POST` with JSON when there is a body. */
export async function call(
  service: TestServer,
  path: string,
  options: CallOptions = {},
): Promise<Answer> {
  const { key = service.key, body, bytes } = options;
  const payload = bytes ?? (body === undefined ? undefined : JSON.stringify(body));
  const headers: Record<string, string> = {};
  if (key !== null) headers["authorization"] = `Bearer ${key}`;
  if (payload !== undefined) headers["content-type"] = "application/json";
  const response = await fetch(service.base + path, {
    method: options.method ?? (payload === undefined ? "GET" : "POST"),
    headers: { ...headers, ...options.headers },
    ...(payload === undefined ? {} : { body: payload }),
  });
  const text = await response.text();
  const isJson = /[/+]json\b/.test(response.headers.get("content-type") ?? "");
  const json = isJson && text !== "" ? JSON.parse(text) : undefined;
  return { status: response.status, headers: response.headers, text, json };
}

/** The problem of an answer, after checking that it is one and consistent with its status line. */
export function problemIn(answer: Answer): Problem {
  if (answer.headers.get("content-type") !== "application/problem+json") {
    throw new Error(`not a problem: ${answer.status} ${answer.text}`);
  }
  const problem = answer.json as Problem;
  if (problem.status !== answer.status) throw new Error("status differs from the status line");
  if (problem.type !== `urn:trustrank:problem:${problem.code}`) throw new Error(problem.type);
  if (problem.request_id !== answer.headers.get("x-request-id")) throw new Error("request id");
  if (answer.headers.get("cache-control") !== "no-store") throw new Error("cacheable problem");
  return problem;
}

// The service's API as the session asks it. Paths are those of the API itself (`/v1/keys`), which is
// also what "as curl" shows.
import { CONSOLE_URL, readSession, setSession } from "./session.ts";

/** A request that was answered with a problem. */
export class ApiError extends Error {
  readonly status: number;
  readonly code: string;
  readonly detail: string;
  /** What is wrong with single members: `pointer`, `code`, `detail`. */
  readonly errors: readonly { pointer: string; code: string; detail: string }[];
  readonly requestId: string | undefined;

  constructor(status: number, problem: Partial<Problem>) {
    super(problem.detail ?? `the service answers ${status}`);
    this.status = status;
    this.code = problem.code ?? String(status);
    this.detail = this.message;
    this.errors = problem.errors ?? [];
    this.requestId = problem.request_id;
  }
}

interface Problem {
  code: string;
  detail: string;
  errors: { pointer: string; code: string; detail: string }[];
  request_id: string;
}

export type QueryParameters = Readonly<Record<string, string | number | boolean | undefined>>;

/** `path` with those parameters that have a value. */
export function buildPathWithQuery(path: string, parameters: QueryParameters = {}): string {
  const given = Object.entries(parameters).filter(
    ([, value]) => value !== undefined && value !== "",
  );
  if (given.length === 0) return path;
  const text = given.map(([name, value]) => `${name}=${encodeURIComponent(String(value))}`);
  return `${path}?${text.join("&")}`;
}

/** Reads a document. @throws ApiError */
export function getDocument<Answer>(
  path: string,
  parameters?: QueryParameters,
  signal?: AbortSignal,
): Promise<Answer> {
  return fetchDocument<Answer>("GET", buildPathWithQuery(path, parameters), undefined, signal);
}

/** Sends a document and reads the answer, undefined where it has no body. @throws ApiError */
export function sendDocument<Answer>(
  method: "POST" | "PUT" | "PATCH" | "DELETE",
  path: string,
  body?: unknown,
  signal?: AbortSignal,
): Promise<Answer> {
  return fetchDocument<Answer>(
    method,
    path,
    body ?? (method === "DELETE" ? undefined : {}),
    signal,
  );
}

/** Rows of a SELECT as objects by column. @throws ApiError */
export async function querySql<Row>(sql: string, signal?: AbortSignal): Promise<Row[]> {
  const { columns, rows } = await sendDocument<{
    columns: { name: string }[];
    rows: unknown[][];
  }>("POST", "/v1/query", { sql }, signal);
  return rows.map(
    (row) => Object.fromEntries(columns.map(({ name }, at) => [name, row[at]])) as Row,
  );
}

/** Reads a document for a page that asks by itself: the session ends as if nobody had asked. @throws ApiError */
export async function pollDocument<Answer>(path: string, signal: AbortSignal): Promise<Answer> {
  const headers = { "x-tr-background": "true" };
  return (await (await sendRequest("GET", path, { headers, signal })).json()) as Answer;
}

/** The answer as it came, for downloads. @throws ApiError */
export function fetchApiResponse(
  method: string,
  path: string,
  body?: unknown,
  signal?: AbortSignal,
): Promise<Response> {
  return sendRequest(method, path, { body, signal });
}

interface RequestParts {
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal | undefined;
}

async function sendRequest(
  method: string,
  path: string,
  { body, signal, headers: own = {} }: RequestParts,
): Promise<Response> {
  const headers: Record<string, string> = {
    accept: "application/json",
    "x-tr-csrf": readSession()?.csrf ?? "",
    ...own,
  };
  if (body !== undefined) headers["content-type"] = "application/json";
  const response = await fetch(buildApiUrl(path), {
    method,
    headers,
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    ...(signal === undefined ? {} : { signal }),
  });
  if (response.ok) return response;
  const problem = (await response.json().catch(() => ({}))) as Partial<Problem>;
  // Only the session itself is over; a key that may not do this is told so.
  if (response.status === 401) setSession(undefined);
  throw new ApiError(response.status, problem);
}

/** Where the session finds `path`, for links to downloads and pages. */
export function buildApiUrl(path: string): URL {
  return new URL(`api${path}`, CONSOLE_URL);
}

async function fetchDocument<Answer>(
  method: string,
  path: string,
  body: unknown,
  signal: AbortSignal | undefined,
): Promise<Answer> {
  const response = await fetchApiResponse(method, path, body, signal);
  const isJson = response.headers.get("content-type")?.includes("json") === true;
  const text = await response.text();
  return (isJson && text !== "" ? JSON.parse(text) : text) as Answer;
}

// Whether a request body may be left out, derived from the schema of the route's message: no list of
// routes to keep in step.
import { SCHEMAS } from "./openapi/schemas.ts";
import type { RouteDescription } from "./route-description.ts";

/**
 * Whether a `POST` without a body, with an empty body and with `{}` are the same request: its message
 * has no required member, or the route takes no message.
 */
export function isBodyOptional({ method, body }: RouteDescription): boolean {
  if (method !== "POST") return false;
  if (body === undefined) return true;
  const schema = SCHEMAS[body.schema];
  return body.kind === "document" && schema?.["type"] === "object" && !("required" in schema);
}

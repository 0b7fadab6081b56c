// The session as this tab knows it. The cookie is the browser's; here are only the token that goes with
// changes, and whom it belongs to.
import type { MessageOf } from "../contract/schemas/schema.ts";
import type { ConsoleSession } from "../contract/schemas/console.ts";

export type Session = MessageOf<typeof ConsoleSession>;

/** Below it all requests go; the page may lie behind a proxy's prefix. */
export const CONSOLE_URL = new URL("console/", document.baseURI);

let currentSession: Session | undefined;
const listeners = new Set<(session: Session | undefined) => void>();

/** The session; undefined when nobody is logged in. */
export function readSession(): Session | undefined {
  return currentSession;
}

export function setSession(next: Session | undefined): void {
  currentSession = next;
  for (const listener of listeners) listener(next);
}

/** Calls `listener` at every change until the returned function is called. */
export function subscribeToSession(listener: (session: Session | undefined) => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/** Whether the session's key holds one of these scopes, or is an admin's. */
export function hasAnyScope(...scopes: string[]): boolean {
  const held: readonly string[] = currentSession?.scopes ?? [];
  return held.includes("admin") || scopes.some((scope) => held.includes(scope));
}

/** The session of the browser's cookie; undefined without one. */
export async function resumeSession(): Promise<Session | undefined> {
  const response = await fetch(new URL("session", CONSOLE_URL));
  setSession(response.status === 200 ? ((await response.json()) as Session) : undefined);
  return currentSession;
}

/** Logs in. @throws Error with a sentence for people. */
export async function logIn(given: { key: string } | { token: string }): Promise<void> {
  const response = await fetch(new URL("session", CONSOLE_URL), {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(given),
  });
  const answer = (await response.json()) as Session & { detail?: string };
  if (!response.ok) throw new Error(answer.detail ?? `the service answers ${response.status}`);
  setSession(answer);
}

export async function logOut(): Promise<void> {
  const headers = { "x-tr-csrf": currentSession?.csrf ?? "" };
  await fetch(new URL("session", CONSOLE_URL), { method: "DELETE", headers });
  setSession(undefined);
}

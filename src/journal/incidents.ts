// Incidents of reported outcomes: failures that share a name are one incident, whose size the fold
// bounds (assembly/incidents.ts). What a name is scoped to, and which hour a failure belongs to.
import { hash } from "node:crypto";
import { DAY_MS } from "../contract/units.ts";

/** Largest number of an incident; 0 is none. */
export const INCIDENT_MAX = 0x1fffffff;

/** Number of a tenant's incident: 29 bits of the hash of both names, 1 to INCIDENT_MAX. */
export function hashIncident(tenant: string, incidentId: string): number {
  const number = hash("sha256", `${tenant}\n${incidentId}`, "buffer").readUInt32LE(0);
  return Math.max(1, number & INCIDENT_MAX);
}

/**
 * Time, epoch ms, whose UTC hour a failure counts in: that of settlement, or that of its arrival where
 * it came more than a day later, so that nobody spreads one hour's reports over the past.
 */
export function computeIncidentTimeMs(settledAtMs: number, receivedAtMs: number): number {
  return receivedAtMs - settledAtMs > DAY_MS ? receivedAtMs : settledAtMs;
}

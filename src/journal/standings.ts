// Standings of reporters as journal payload: the changes of one credibility batch, in parts small
// enough for one commit each. Applied at its position, like an outcome: same log, same table.
import assert from "node:assert/strict";
import type { AgentStanding, StandingsPart } from "../engine/reading.ts";
import {
  FRAME_HEAD_BYTES,
  readPayloadLength,
  readFrameLsn,
  readUint64,
  writeUint64,
} from "./format.ts";

/*
 * Payload, little-endian. `flg` bit 0: credibility is in force from here on. Row flags are the
 * FLAG_* of the agent table; `rho` counts thousandths.
 *
 *   0   1   2       4       8               16              24
 *   +---+---+-------+-------+---------------+---------------+-- - - -+
 *   |ver|flg| zero  | count | computed from | stakes f64    | rows   |
 *   +---+---+-------+-------+---------------+---------------+-- - - -+
 *
 *   row:  0       2   3   4       6       8               12
 *         +-------+---+---+-------+-------+---------------+-- - -+
 *         |length |flg| 0 | rho   | zero  | cluster       | id   |
 *         +-------+---+---+-------+-------+---------------+-- - -+
 */
const HEAD_BYTES = 24;
const ROW_BYTES = 12;
export const STANDINGS_VERSION = 1;
const FLAG_IN_FORCE = 1;
const THOUSANDTHS = 1000;
/** Half of the size of one sync: outcomes that arrive meanwhile share it. */
const STANDINGS_PART_BYTES_MAX = 128 * 1024;

/** The journal record of one part. */
export interface StandingsRecord extends StandingsPart {
  /** Position up to which the journal was read. */
  computedFrom: number;
}

/** Rules that hold for all reporters. */
type StandingsRules = Pick<StandingsPart, "isInForce" | "stakesHigh">;

/** Before the first batch. */
export const RULES_BEFORE_STANDINGS: StandingsRules = { isInForce: false, stakesHigh: 0 };

/**
 * Payloads in order. Only the last changes the rules for all, so that a torn batch changes no rule;
 * the others repeat the rules in force `before`.
 */
export function encodeStandings(batch: StandingsRecord, before: StandingsRules): Buffer[] {
  const parts = groupRowsIntoParts(batch.agents.map(encodeRow));
  return parts.map((rows, i) => {
    const { isInForce, stakesHigh } = i === parts.length - 1 ? batch : before;
    const head = Buffer.alloc(HEAD_BYTES);
    head[0] = STANDINGS_VERSION;
    head[1] = isInForce ? FLAG_IN_FORCE : 0;
    head.writeUInt32LE(rows.length, 4);
    writeUint64(head, 8, batch.computedFrom);
    head.writeDoubleLE(stakesHigh, 16);
    return Buffer.concat([head, ...rows]);
  });
}

function groupRowsIntoParts(rows: readonly Buffer[]): Buffer[][] {
  const parts: Buffer[][] = [[]];
  let bytes = 0;
  for (const row of rows) {
    if (bytes + row.byteLength > STANDINGS_PART_BYTES_MAX) {
      parts.push([]);
      bytes = 0;
    }
    parts.at(-1)!.push(row);
    bytes += row.byteLength;
  }
  return parts;
}

function encodeRow({ agent, flags, credibility, cluster }: AgentStanding): Buffer {
  const id = Buffer.from(agent);
  const row = Buffer.alloc(ROW_BYTES + id.byteLength);
  row.writeUInt16LE(id.byteLength, 0);
  row[2] = flags;
  row.writeUInt16LE(Math.round(credibility * THOUSANDTHS), 4);
  row.writeUInt32LE(cluster, 8);
  row.set(id, ROW_BYTES);
  return row;
}

/** The newest record of standings that holds. */
export interface StandingsPlace {
  readonly lsn: number;
  readonly computedFrom: number;
}

/**
 * Order of batches. In a cluster two nodes may have computed one each: the one whose first record comes second was
 * computed without knowing of the other, and none of its records holds. A service that is alone computes each
 * batch after the last.
 */
export class StandingsOrder {
  newest: StandingsPlace = { lsn: 0, computedFrom: 0 };

  /** The standings in the frame at `at`, frames being given in order; undefined when they do not hold. */
  decodeIfInOrder(bytes: Buffer, at: number): StandingsRecord | undefined {
    const record = decodeStandings(bytes, at);
    const { computedFrom } = record;
    const { newest } = this;
    if (computedFrom !== newest.computedFrom && computedFrom < newest.lsn) return undefined;
    this.newest = { lsn: readFrameLsn(bytes, at), computedFrom };
    return record;
  }
}

/**
 * The standings in the frame at `at`.
 * @throws Error when their version is unknown.
 */
export function decodeStandings(bytes: Buffer, at: number): StandingsRecord {
  const start = at + FRAME_HEAD_BYTES;
  const end = start + readPayloadLength(bytes, at);
  assert(bytes[start] === STANDINGS_VERSION, `standings of version ${bytes[start]} are not known`);
  const agents: AgentStanding[] = [];
  let row = start + HEAD_BYTES;
  for (let left = bytes.readUInt32LE(start + 4); left > 0; left--) {
    const next = row + ROW_BYTES + bytes.readUInt16LE(row);
    assert(next <= end, "a row of standings reaches beyond its record");
    agents.push({
      agent: bytes.toString("utf8", row + ROW_BYTES, next),
      flags: bytes[row + 2] as number,
      credibility: bytes.readUInt16LE(row + 4) / THOUSANDTHS,
      cluster: bytes.readUInt32LE(row + 8),
    });
    row = next;
  }
  return {
    isInForce: ((bytes[start + 1] as number) & FLAG_IN_FORCE) !== 0,
    stakesHigh: bytes.readDoubleLE(start + 16),
    computedFrom: readUint64(bytes, start + 8),
    agents,
  };
}

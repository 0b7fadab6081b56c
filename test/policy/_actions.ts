// The policy that test/tables/actions.txt is about, and the rows of that table.
import type { ActionEntry } from "../../src/contract/actions.ts";
import type { ToolLevel } from "../../src/contract/vocabulary.ts";
import { readTable, readYesNo } from "../tables/_read-table.ts";

export const ACTIONS: ActionEntry[] = [
  { match: "db.*", resource: "ledger/*", level: "L3", stakes: "/resource/properties/amount" },
  { match: "wire.*", when: { "/context/env": "prod" }, level: "L3" },
  { match: "wire.*", when: { "/context/env": "sandbox" }, level: "L1" },
  { match: "wire.*", level: "L2", stakes: "/context/amount" },
  { match: "weather.lookup", level: "L0" },
  { match: "db.write", level: "L1" },
];

/** One row, a dash read as nothing. */
export interface ActionRow {
  readonly action: string;
  readonly resource: string | undefined;
  readonly env: string | undefined;
  readonly named: ToolLevel | undefined;
  readonly isTrusted: boolean;
  /** -1 for none. */
  readonly entry: number;
  readonly level: ToolLevel;
}

export const ACTION_ROWS: ActionRow[] = readTable("actions.txt").map((row) => {
  const read = (name: string) => (row[name] === "-" ? undefined : row[name]);
  return {
    action: row["action"]!,
    resource: read("resource"),
    env: read("env"),
    named: read("named") as ToolLevel | undefined,
    isTrusted: readYesNo(row["trusted"]),
    entry: Number(read("entry") ?? -1),
    level: row["level"] as ToolLevel,
  };
});

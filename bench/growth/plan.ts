// Plan of a deployment from measured costs: how many processes, how much memory, disk and CPU. The
// formulas are those of docs/operate/sizing.md, line by line.
import { rounded } from "../load/spread.ts";

/** What is to be served. */
export interface Demand {
  readonly agents: number;
  readonly requestsPerSecond: number;
  readonly outcomesPerSecond: number;
  readonly keptDays: number;
}

/** What one process and one piece of work cost, as measured. */
export interface Costs {
  /** Row, index, identifier and pairs of one agent. */
  readonly agentBytes: number;
  /** Of the process without agents. */
  readonly baseBytes: number;
  readonly requestUs: number;
  readonly outcomeUs: number;
  readonly journalBytes: number;
  readonly storeBytes: number;
  readonly replayUs: number;
}

export interface Plan {
  readonly processes: number;
  readonly agents_a_process: number;
  readonly memory_bytes: number;
  readonly memory_a_process_bytes: number;
  readonly cores: number;
  readonly requests_a_process: number;
  readonly outcomes_a_process: number;
  readonly disk_bytes: number;
  readonly replay_seconds_a_process: number;
  /** Which demand asks for the most processes. */
  readonly bound_by: "agents" | "requests";
}

/** Shared memory of one process: 32-bit addresses of WASM. */
const TABLE_BYTES_MAX = 4 * 2 ** 30;
/** Writing a snapshot copies the table. */
const TABLE_COPIES = 2;
/** Of the table: what stays free for growth, whose parts are doubled. */
const TABLE_SHARE = 0.75;
/** Of a core: what is left for bursts. */
const CPU_SHARE = 0.5;
/** HTTP threads of a process that still pay (docs/operate/more-cores.md). */
const CORES_A_PROCESS = 8;
const SECONDS_A_DAY = 86_400;
/** Outcomes behind the newest snapshot, at most. */
const SNAPSHOT_OUTCOMES = 500_000;

export function planOf(demand: Demand, costs: Costs): Plan {
  const agentsMax = Math.floor((TABLE_BYTES_MAX * TABLE_SHARE) / costs.agentBytes);
  const cpu =
    (demand.requestsPerSecond * costs.requestUs + demand.outcomesPerSecond * costs.outcomeUs) / 1e6;
  const cores = Math.ceil(cpu / CPU_SHARE);
  const byAgents = Math.ceil(demand.agents / agentsMax);
  const byRequests = Math.ceil(cores / CORES_A_PROCESS);
  const processes = Math.max(1, byAgents, byRequests);
  const agents = Math.ceil(demand.agents / processes);
  const memory = costs.baseBytes + TABLE_COPIES * agents * costs.agentBytes;
  const outcomes = demand.outcomesPerSecond * SECONDS_A_DAY * demand.keptDays;
  return {
    processes,
    agents_a_process: agents,
    memory_bytes: rounded(memory * processes),
    memory_a_process_bytes: rounded(memory),
    cores,
    requests_a_process: rounded(demand.requestsPerSecond / processes),
    outcomes_a_process: rounded(demand.outcomesPerSecond / processes),
    disk_bytes: rounded(outcomes * (costs.journalBytes + costs.storeBytes)),
    replay_seconds_a_process: rounded((SNAPSHOT_OUTCOMES * costs.replayUs) / 1e6),
    bound_by: byAgents >= byRequests ? "agents" : "requests",
  };
}

// Questions to the lists of the store, and their answers.
import type {
  AgentDay,
  AgentDaysFilter,
  AgentFilter,
  AgentPage,
  OutcomeFilter,
  RecordedOutcome,
} from "../../contract/schemas/agents.ts";

/** One question to the lists of agents and outcomes. */
export type AgentDirectoryRequest =
  | { list: "agents"; filter: AgentFilter }
  | { list: "outcomes"; filter: OutcomeFilter }
  | { list: "days"; filter: AgentDaysFilter };

/** The answer to each. */
export interface AgentDirectoryResults {
  /** Scores of a reading that is not old; they are read anew behind it. */
  agents: AgentPage;
  outcomes: RecordedOutcome[];
  days: AgentDay[];
}

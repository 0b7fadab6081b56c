// SQL: questions to the outcome store, answered as a table, a picture or a file. The address holds the
// question, so that a link asks it again.
import { ApiError, fetchApiResponse, sendDocument } from "../api.ts";
import { downloadBlob } from "../download.ts";
import {
  html,
  readInputValue,
  useCallback,
  useEffect,
  useId,
  useRef,
  useState,
  type VNode,
} from "../html.ts";
import { usePageParameters } from "../location.ts";
import { CurlCommand, CopyButton } from "../parts/actions.ts";
import { Empty, Failure, Loading } from "../parts/notices.ts";
import { Card, Page } from "../parts/page.ts";
import { SQL_EXAMPLES, clearPastQueries, readPastQueries, savePastQuery } from "./sql/queries.ts";
import { Explorer } from "./sql/explorer.ts";
import { type SqlAnswer, SqlResult } from "./sql/results.ts";

const LEAD = "One read-only SELECT over the views, in DuckDB's dialect: 8 seconds, 10,000 rows.";
const PATH = "/v1/query";
/** Until a query that is not known yet is ended again. */
const END_RETRY_MS = 200;

interface QueryState {
  readonly answer?: SqlAnswer;
  readonly error?: Error;
  /** Set while a question is under way: the name by which it is ended. */
  readonly running?: string;
}

export default function SqlPage(): VNode {
  const [parameters, setParameters] = usePageParameters();
  const asked = parameters["q"] ?? "";
  const [sql, setSql] = useState(asked === "" ? SQL_EXAMPLES[0]!.sql : asked);
  const [state, setState] = useState<QueryState>({});
  const [past, setPast] = useState(readPastQueries);
  const turn = useRef(0);
  const run = useCallback(async (question: string) => {
    const running = `console-${crypto.randomUUID()}`;
    const mine = ++turn.current;
    setPast(savePastQuery(question));
    setState({ running });
    try {
      const answer = await sendDocument<SqlAnswer>("POST", PATH, {
        sql: question,
        query_id: running,
      });
      if (mine === turn.current) setState({ answer });
    } catch (error) {
      if (mine === turn.current) setState({ error: error as Error });
    }
  }, []);
  // The address asks: by a link, a step back, or what was typed here.
  useEffect(() => {
    if (asked === "") return;
    setSql(asked);
    void run(asked);
  }, [asked]);
  const ask = (question: string) => {
    setSql(question);
    if (question.trim() === "") return;
    if (question === asked) void run(question);
    else setParameters({ q: question });
  };
  return html`<${Page} title="SQL" lead=${LEAD}>
    <div class="workbench">
      <aside>
        <${Card} title="Views"><${Explorer} onAsk=${ask} /><//>
      </aside>
      <div>
        <${SqlEditor} sql=${sql} onSql=${setSql} onAsk=${ask} running=${state.running} />
        <${SqlExamples} past=${past} onAsk=${ask} onForget=${() => setPast(clearPastQueries())} />
        <${Card}
          title="Answer"
          tools=${html`<${AnswerDownloads} sql=${asked} answer=${state.answer} />`}
        >
          <${QueryOutput} state=${state} onRetry=${() => void run(asked)} />
          <${CurlCommand} method="POST" path=${PATH} body=${{ sql }} />
        <//>
      </div>
    </div>
  <//>`;
}

function QueryOutput({ state, onRetry }: { state: QueryState; onRetry: () => void }): VNode {
  const { answer, error, running } = state;
  if (running !== undefined) return html`<${Loading} />`;
  if (error !== undefined) return html`<${Failure} error=${error} onRetry=${onRetry} />`;
  if (answer === undefined) {
    return html`<${Empty}>Press Run, or Ctrl+Enter in the text: the answer shows here.<//>`;
  }
  return html`<${SqlResult} answer=${answer} />`;
}

interface SqlEditorProps {
  readonly sql: string;
  readonly onSql: (sql: string) => void;
  readonly onAsk: (sql: string) => void;
  readonly running: string | undefined;
}

function SqlEditor({ sql, onSql, onAsk, running }: SqlEditorProps): VNode {
  const id = useId();
  const rows = Math.min(18, Math.max(4, sql.split("\n").length + 1));
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey)) return;
    event.preventDefault();
    onAsk(readInputValue(event));
  };
  const current = useRef(running);
  current.current = running;
  const end = () => endQuery(running!, () => current.current === running);
  return html`<${Card}>
    <label class="skip" for=${id}>Question in SQL</label>
    <textarea
      id=${id}
      class="code wide"
      rows=${rows}
      spellcheck=${false}
      autocapitalize="off"
      value=${sql}
      onInput=${(event: Event) => onSql(readInputValue(event))}
      onKeyDown=${onKeyDown}
    ></textarea>
    <div class="tools">
      <button
        type="button"
        class="primary"
        disabled=${running !== undefined}
        onClick=${() => onAsk(sql)}
      >
        Run
      </button>
      <button type="button" disabled=${running === undefined} onClick=${end}>Cancel</button>
      <span class="dim small"><kbd>Ctrl</kbd> <kbd>Enter</kbd> runs it</span>
    </div>
  <//>`;
}

/**
 * Ends a query. Its request may still be on the way, on another connection: until then its name is unknown (404), as it
 * is after an answer that has come meanwhile.
 */
async function endQuery(name: string, isRunning: () => boolean): Promise<void> {
  while (isRunning()) {
    try {
      return await sendDocument("DELETE", `${PATH}/${name}`);
    } catch (error) {
      if (!(error instanceof ApiError) || error.status !== 404) throw error;
    }
    await new Promise((resolve) => setTimeout(resolve, END_RETRY_MS));
  }
}

interface SqlExamplesProps {
  readonly past: readonly string[];
  readonly onAsk: (sql: string) => void;
  readonly onForget: () => void;
}

function SqlExamples({ past, onAsk, onForget }: SqlExamplesProps): VNode {
  return html`<${Card}>
    <div class="tools examples">
      ${SQL_EXAMPLES.map(
        ({ question, sql }) =>
          html`<button type="button" class="small" onClick=${() => onAsk(sql)}>
            ${question}
          </button>`,
      )}
    </div>
    ${
      past.length > 0 &&
      html`<details>
        <summary>Asked before in this browser (${past.length})</summary>
        <ol class="past">
          ${past.map(
            (sql) =>
              html`<li>
                <button type="button" class="plain" title=${sql} onClick=${() => onAsk(sql)}>
                  ${sql.replaceAll(/\s+/g, " ").slice(0, 120)}
                </button>
              </li>`,
          )}
        </ol>
        <button type="button" class="small" onClick=${onForget}>Forget them</button>
      </details>`
    }
  <//>`;
}

/** The answer as a file; the question as a link. */
function AnswerDownloads({
  sql,
  answer,
}: {
  sql: string;
  answer: SqlAnswer | undefined;
}): VNode | null {
  const [error, setError] = useState<Error | undefined>(undefined);
  if (answer === undefined || sql === "") return null;
  const save = async () => {
    setError(undefined);
    try {
      const response = await fetchApiResponse("POST", PATH, { sql, format: "csv" });
      downloadBlob(await response.blob(), "answer.csv");
    } catch (thrown) {
      setError(thrown as Error);
    }
  };
  return html`
    ${error !== undefined && html`<span class="deny small" role="alert">${error.message}</span>`}
    <button type="button" class="small" onClick=${save}>CSV</button>
    <${CopyButton} text=${location.href} label="Copy link" />
  `;
}

// Schema browser: the views with their columns, queries that start from a view, and Parquet downloads.
import type { MessageOf } from "../../../contract/schemas/schema.ts";
import type { QuerySchema } from "../../../contract/schemas/service.ts";
import { buildApiUrl, ApiError, getDocument, buildPathWithQuery } from "../../api.ts";
import { html, readInputValue, useId, useState, type VNode } from "../../html.ts";
import { Failure, Loading } from "../../parts/notices.ts";
import { useData } from "../../use-data.ts";

type Schema = MessageOf<typeof QuerySchema>;

interface ExplorerProps {
  /** Puts a question into the editor and asks it. */
  readonly onAsk: (sql: string) => void;
}

export function Explorer({ onAsk }: ExplorerProps): VNode {
  const [sought, setSought] = useState("");
  const id = useId();
  const { value, error, reload } = useData(
    (signal) => getDocument<Schema>("/v1/query/schema", {}, signal),
    [],
  );
  if (error !== undefined) return html`<${Failure} error=${error} onRetry=${reload} />`;
  if (value === undefined) return html`<${Loading} />`;
  const words = sought.trim().toLowerCase();
  const found = value.views.filter(({ name, columns }) =>
    [name, ...columns.map((column) => column.name)].some((each) => each.includes(words)),
  );
  return html`<div class="explorer">
    <label class="dim small" for=${id}>Find a view or a column</label>
    <input
      id=${id}
      type="search"
      value=${sought}
      autocomplete="off"
      spellcheck=${false}
      onInput=${(event: Event) => setSought(readInputValue(event))}
    />
    ${found.length === 0 && html`<p class="dim">No view or column is named so.</p>`}
    <ul class="views">
      ${found.map(
        (view) =>
          html`<li key=${view.name}>
            <${ViewEntry} view=${view} isOpen=${words !== "" && found.length < 4} onAsk=${onAsk} />
          </li>`,
      )}
    </ul>
  </div>`;
}

interface EntryProps extends ExplorerProps {
  readonly view: Schema["views"][number];
  readonly isOpen: boolean;
}

function ViewEntry({ view, isOpen, onAsk }: EntryProps): VNode {
  const { name, comment, columns } = view;
  return html`<details open=${isOpen}>
    <summary>
      <b>${name}</b>
    </summary>
    <p class="small">${comment}</p>
    <div class="tools">
      <button type="button" class="small" onClick=${() => onAsk(`FROM ${name} LIMIT 100`)}>
        First rows
      </button>
      <button type="button" class="small" onClick=${() => onAsk(`SUMMARIZE ${name}`)}>
        Summarize
      </button>
      <${ParquetLinks} view=${name} />
    </div>
    <dl class="columns">
      ${columns.map(
        (column) =>
          html`<div>
            <dt>
              <code>${column.name}</code> <span class="dim">${column.type.toLowerCase()}</span>
            </dt>
            <dd class="dim">${column.comment}</dd>
          </div>`,
      )}
    </dl>
  </details>`;
}

/** Days of a view that has days, then a link to each as a file. */
function ParquetLinks({ view }: { view: string }): VNode {
  const [days, setDays] = useState<readonly string[] | undefined>(undefined);
  const [error, setError] = useState<Error | undefined>(undefined);
  const [isBusy, setBusy] = useState(false);
  const path = `/v1/export/${view}`;
  const load = async () => {
    setBusy(true);
    setError(undefined);
    try {
      const answer = await getDocument<{ days: string[] }>(`${path}/days`);
      setDays(answer.days.toReversed());
    } catch (thrown) {
      setError(thrown as ApiError);
    }
    setBusy(false);
  };
  if (error !== undefined) return html`<${Failure} error=${error} onRetry=${load} />`;
  if (days === undefined) {
    return html`<button type="button" class="small" disabled=${isBusy} onClick=${load}>
      Parquet
    </button>`;
  }
  const files = days.length === 0 ? [undefined] : days;
  return html`<ul class="files small">
    ${files.map((day) => {
      const name = `${view}${day === undefined ? "" : `-${day}`}.parquet`;
      const address = buildApiUrl(buildPathWithQuery(path, { day }));
      return html`<li><a href=${address.href} download=${name}>${day ?? name}</a></li>`;
    })}
  </ul>`;
}

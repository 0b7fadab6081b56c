// Logging in by a key. The key is sent once and kept nowhere; the browser then holds a session's cookie.
import { html, readInputValue, useState, type VNode } from "./html.ts";
import { logIn } from "./session.ts";

export function Login({ wrong }: { wrong?: string }): VNode {
  const [key, setKey] = useState("");
  const [told, setTold] = useState(wrong);
  const [isBusy, setIsBusy] = useState(false);
  const submit = async (event: Event) => {
    event.preventDefault();
    setIsBusy(true);
    try {
      await logIn({ key: key.trim() });
    } catch (error) {
      setTold(`That did not work: ${(error as Error).message}.`);
    }
    setIsBusy(false);
  };
  return html`<main class="login" id="main">
    <form class="card" onSubmit=${submit}>
      <h1><span class="mark" aria-hidden="true"></span>TrustRank</h1>
      <p class="dim">The bureau that agents are checked against.</p>
      <label for="key">API key</label>
      <input
        id="key"
        type="password"
        autocomplete="off"
        spellcheck=${false}
        required
        value=${key}
        placeholder="tr_live_…"
        onInput=${(event: Event) => setKey(readInputValue(event))}
      />
      <button type="submit" class="primary" disabled=${isBusy}>Log in</button>
      <p role="alert" class="deny">${told}</p>
      <p class="dim small">
        The first start printed an admin key and a link that logs in once. A key needs one of the
        scopes admin, analytics:read, reviews:decide, metrics:read. After 30 minutes without use the
        session ends.
      </p>
    </form>
  </main>`;
}

// Starts the console: the login of a link, or the session that the browser has, then the frame.
import { html, render } from "./html.ts";
import { parsePlace } from "./location.ts";
import { ConsoleFrame } from "./frame.ts";
import { logIn, resumeSession } from "./session.ts";
import { applyTheme } from "./theme.ts";

const LOGIN_HASH = /^#login=([\w-]{16,64})$/;

async function startConsole(): Promise<void> {
  applyTheme();
  const [, token] = LOGIN_HASH.exec(location.hash) ?? [];
  let wrong: string | undefined;
  if (token !== undefined) {
    // Out of the address and the history before anything else.
    history.replaceState(null, "", "#/");
    wrong = await logIn({ token }).then(
      () => undefined,
      () => "This link has been used or is older than 5 minutes. Log in with a key instead.",
    );
  }
  if (token === undefined || wrong !== undefined) await resumeSession().catch(() => undefined);
  const root = document.querySelector("#console")!;
  render(html`<${ConsoleFrame} first=${parsePlace(location.hash)} wrong=${wrong} />`, root);
}

void startConsole();

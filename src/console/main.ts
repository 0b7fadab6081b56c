// Starts the console: the login of a link, or the session that the browser has, then the frame.
import { html, render } from "./html.ts";
import { parsePlace } from "./location.ts";
import { Frame } from "./frame.ts";
import { logIn, resume } from "./session.ts";
import { applyTheme } from "./theme.ts";

const LOGIN = /^#login=([\w-]{16,64})$/;

async function start(): Promise<void> {
  applyTheme();
  const [, token] = LOGIN.exec(location.hash) ?? [];
  let wrong: string | undefined;
  if (token !== undefined) {
    // Out of the address and the history before anything else.
    history.replaceState(null, "", "#/");
    wrong = await logIn({ token }).then(
      () => undefined,
      () => "This link has been used or is older than 5 minutes. Log in with a key instead.",
    );
  }
  if (token === undefined || wrong !== undefined) await resume().catch(() => undefined);
  const root = document.querySelector("#console")!;
  render(html`<${Frame} first=${parsePlace(location.hash)} wrong=${wrong} />`, root);
}

void start();

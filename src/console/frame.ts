// The frame around every page: login by a key, navigation, and the page itself, loaded when opened.
// The key is sent once and kept nowhere; the browser then holds a session's cookie.
import { html, readInputValue, useEffect, useRef, useState, type VNode } from "./html.ts";
import { linkTo, type PageLocation, usePageLocation } from "./location.ts";
import { PAGE_GROUPS, PAGES, type PageEntry } from "./pages.ts";
import { logOut, subscribeToSession, readSession, type Session, logIn } from "./session.ts";
import { ShortcutsHelp, useGlobalShortcuts } from "./parts/shortcuts-help.ts";
import { Failure, Loading } from "./parts/notices.ts";
import { StopBanner } from "./stop-banner.ts";
import { setTheme, readTheme, THEMES, type Theme } from "./theme.ts";

function Login({ wrong }: { wrong?: string }): VNode {
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
        scopes admin, analytics:read, reviews:decide, metrics:read, conditions:restrict,
        conditions:clear. After 30 minutes without use the session ends.
      </p>
    </form>
  </main>`;
}

export function ConsoleFrame({ wrong }: { first: PageLocation; wrong?: string }): VNode {
  const [who, setWho] = useState(readSession);
  useEffect(() => subscribeToSession(setWho), []);
  if (who === undefined) return html`<${Login} wrong=${wrong} />`;
  return html`<${LoggedInFrame} who=${who} />`;
}

function LoggedInFrame({ who }: { who: Session }): VNode {
  const { page } = usePageLocation();
  const entry = PAGES.find(({ name }) => name === page);
  const [isOpen, setIsOpen] = useState(false);
  useGlobalShortcuts();
  useEffect(() => setIsOpen(false), [page]);
  useEffect(() => {
    document.title = `${entry?.label ?? "Not found"} · TrustRank`;
  }, [page]);
  return html`<div class="frame">
    <a class="skip" href="#main" onClick=${focusMain}>Skip to the page</a>
    <header class="bar">
      <a class="brand" href=${linkTo("")}><span class="mark" aria-hidden="true"></span>TrustRank</a>
      <button
        class="menu"
        type="button"
        aria-expanded=${isOpen}
        aria-controls="navigation"
        onClick=${() => setIsOpen(!isOpen)}
      >
        Menu
      </button>
    </header>
    <nav id="navigation" class=${`side ${isOpen ? "open" : ""}`} aria-label="Pages">
      ${PAGE_GROUPS.map((group) => html`<${NavigationGroup} group=${group} current=${page} />`)}
      <${Account} who=${who} />
    </nav>
    <main id="main" tabindex="-1">
      <${StopBanner} />
      ${
        entry === undefined
          ? html`<h1>Not found</h1>
              <p>No page has this name. <a href=${linkTo("")}>Overview</a></p>`
          : html`<${LazyPage} key=${entry.name} entry=${entry} />`
      }
    </main>
    <${ShortcutsHelp} />
  </div>`;
}

function focusMain(event: Event): void {
  event.preventDefault();
  document.querySelector<HTMLElement>("#main")?.focus();
}

function NavigationGroup({ group, current }: { group: string; current: string }): VNode | null {
  const pages = PAGES.filter((page) => page.group === group && page.isHidden !== true);
  if (pages.length === 0) return null;
  return html`<section>
    <h2>${group}</h2>
    <ul>
      ${pages.map(
        ({ name, label, letter }) =>
          html`<li>
            <a
              href=${linkTo(name)}
              aria-current=${name === current ? "page" : undefined}
              title=${letter === undefined ? undefined : `g ${letter}`}
              >${label}</a
            >
          </li>`,
      )}
    </ul>
  </section>`;
}

function Account({ who }: { who: Session }): VNode {
  const [chosen, choose] = useState<Theme>(readTheme);
  const pick = (event: Event) => {
    const next = readInputValue(event) as Theme;
    setTheme(next);
    choose(next);
  };
  return html`<section class="account">
    <p><span class="dim">logged in as</span> <b>${who.tenant}</b></p>
    <p class="dim">${who.key_id}</p>
    <p>
      <label class="small"
        >Theme${" "}
        <select onChange=${pick} value=${chosen}>
          ${THEMES.map((each) => html`<option value=${each}>${each}</option>`)}
        </select>
      </label>
      <button type="button" class="plain" onClick=${() => void logOut()}>Log out</button>
    </p>
    <p class="dim small">unit of account: ${who.unit_of_account}</p>
    <p class="dim small">${who.version} · <kbd>?</kbd> for keys</p>
  </section>`;
}

/** The page's module, then the page; a module that does not come is told with a way to try again. */
function LazyPage({ entry }: { entry: PageEntry }): VNode {
  const [page, setPage] = useState<{ Content?: () => VNode; error?: Error }>({});
  const [turn, setTurn] = useState(0);
  const isGone = useRef(false);
  useEffect(() => {
    isGone.current = false;
    entry.load().then(
      (module) => isGone.current || setPage({ Content: module.default }),
      (error: unknown) => isGone.current || setPage({ error: error as Error }),
    );
    return () => {
      isGone.current = true;
    };
  }, [entry, turn]);
  const { Content, error } = page;
  if (Content !== undefined) return html`<${Content} />`;
  if (error === undefined) return html`<${Loading} />`;
  return html`<${Failure} error=${error} onRetry=${() => setTurn(turn + 1)} />`;
}

// Style sheet of the report for those who were refused: the reader's own fonts and choice of dark or
// light. It loads nothing.

export const AGENT_REPORT_STYLE = `:root {
  color-scheme: light dark;
  --ink: light-dark(#1b1f24, #e4e7eb);
  --soft: light-dark(#56606b, #9aa5b1);
  --line: light-dark(#d8dde3, #343b44);
  --ground: light-dark(#ffffff, #14171b);
  --shade: light-dark(#f4f6f8, #1d2228);
  --link: light-dark(#0b5cad, #7ab8ff);
}
* { box-sizing: border-box; }
body {
  margin: 0 auto;
  max-width: 46rem;
  padding: 2rem 1rem 4rem;
  color: var(--ink);
  background: var(--ground);
  font: 1rem/1.55 system-ui, sans-serif;
}
h1 { font-size: 1.5rem; line-height: 1.25; margin: 0 0 0.25rem; overflow-wrap: anywhere; }
h2 { font-size: 1.15rem; margin: 2.25rem 0 0.5rem; }
p, ul, dl { margin: 0.5rem 0; }
.soft { color: var(--soft); }
dl { display: grid; grid-template-columns: repeat(auto-fit, minmax(9rem, 1fr)); gap: 0.75rem; }
dl div { padding: 0.6rem 0.8rem; background: var(--shade); border-radius: 0.4rem; }
dt { color: var(--soft); font-size: 0.85rem; }
dd { margin: 0; font-size: 1.15rem; font-variant-numeric: tabular-nums; }
ol.against { list-style: none; margin: 0; padding: 0; }
ol.against li { padding: 0.75rem 0; border-bottom: 1px solid var(--line); }
ol.against p { margin: 0; }
ol.against .soft { margin-top: 0.2rem; }
code { font: 0.85em ui-monospace, monospace; overflow-wrap: anywhere; }
.wide { overflow-x: auto; }
table { width: 100%; border-collapse: collapse; font-size: 0.92rem; }
th, td { padding: 0.4rem 0.75rem 0.4rem 0; text-align: left; vertical-align: top; }
th { color: var(--soft); font-weight: 500; }
td.n { font-variant-numeric: tabular-nums; white-space: nowrap; }
tr { border-bottom: 1px solid var(--line); }
label { display: block; margin: 0.9rem 0 0.25rem; font-weight: 600; }
textarea, input, select {
  width: 100%;
  padding: 0.55rem 0.7rem;
  color: inherit;
  background: var(--ground);
  border: 1px solid var(--soft);
  border-radius: 0.4rem;
  font: inherit;
}
textarea { min-height: 9rem; resize: vertical; }
button {
  margin-top: 1rem;
  padding: 0.6rem 1.2rem;
  color: light-dark(#ffffff, #0d1117);
  background: var(--link);
  border: 0;
  border-radius: 0.4rem;
  font: inherit;
  font-weight: 600;
  cursor: pointer;
}
:focus-visible { outline: 2px solid var(--link); outline-offset: 2px; }
`;

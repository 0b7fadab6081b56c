// Style sheet of the page: the reader's own fonts and choice of dark or light, nothing that loads.

export const DOCS_STYLE = `:root {
  color-scheme: light dark;
  --ink: light-dark(#1b1f24, #e4e7eb);
  --soft: light-dark(#5b6570, #9aa5b1);
  --line: light-dark(#d8dde3, #343b44);
  --ground: light-dark(#ffffff, #14171b);
  --shade: light-dark(#f4f6f8, #1d2228);
  --link: light-dark(#0b5cad, #7ab8ff);
}
* { box-sizing: border-box; }
body {
  margin: 0;
  display: grid;
  grid-template-columns: minmax(14rem, 20rem) minmax(0, 1fr);
  color: var(--ink);
  background: var(--ground);
  font: 1rem/1.5 system-ui, sans-serif;
}
a { color: var(--link); }
nav {
  position: sticky;
  top: 0;
  height: 100vh;
  overflow-y: auto;
  padding: 1rem;
  border-right: 1px solid var(--line);
  font-size: 0.85rem;
}
nav h2 { margin: 1rem 0 0.25rem; font-size: 0.95rem; }
nav ul { margin: 0; padding: 0; list-style: none; }
nav li a { display: block; padding: 0.1rem 0; overflow-wrap: anywhere; }
nav a { text-decoration: none; }
main { padding: 1rem 2rem 4rem; max-width: 70rem; }
h2 { margin-top: 2.5rem; border-bottom: 1px solid var(--line); }
h3 { margin-top: 2rem; overflow-wrap: anywhere; }
h4 { margin: 1rem 0 0.25rem; }
article:target > h3, tr:target { background: var(--shade); }
small { color: var(--soft); }
code, pre, .method { font-family: ui-monospace, monospace; font-size: 0.9em; }
code { overflow-wrap: anywhere; }
td:first-child > code:only-child { white-space: nowrap; }
pre { overflow-x: auto; padding: 0.75rem; background: var(--shade); border-radius: 0.25rem; }
.wide { overflow-x: auto; }
table { width: 100%; border-collapse: collapse; }
th, td { padding: 0.35rem 0.75rem 0.35rem 0; text-align: left; vertical-align: top; }
tr { border-bottom: 1px solid var(--line); }
td p { margin: 0.25rem 0; }
.method { display: inline-block; min-width: 4.2em; font-weight: 700; }
.get { color: light-dark(#0b6b3a, #6fd19c); }
.post { color: light-dark(#0b5cad, #7ab8ff); }
.put, .patch { color: light-dark(#8a5a00, #e2b45b); }
.delete { color: light-dark(#a3211b, #ff8f87); }
.skip { position: absolute; left: -100vw; }
.skip:focus { left: 0.5rem; top: 0.5rem; background: var(--ground); }
@media (max-width: 50rem) {
  body { display: block; }
  nav { position: static; height: 40vh; border-right: 0; border-bottom: 1px solid var(--line); }
  main { padding: 1rem; }
}
@media print { nav { display: none; } body { display: block; } }
`;

// Style sheets of the pages that the service renders: one base with the reader's own fonts and choice of dark
// or light, and the rules of each kind of page. Nothing in them loads anything. Blue and orange (Okabe and
// Ito) separate old from new for every kind of color vision; dashes and shapes do, too.

const BASE_STYLE = `:root {
  color-scheme: light dark;
  --ink: light-dark(#1b1f24, #e4e7eb);
  --soft: light-dark(#56606b, #9aa5b1);
  --line: light-dark(#d8dde3, #343b44);
  --ground: light-dark(#ffffff, #14171b);
  --shade: light-dark(#f4f6f8, #1d2228);
  --link: light-dark(#0b5cad, #7ab8ff);
}
* { box-sizing: border-box; }
body { color: var(--ink); background: var(--ground); font: 1rem/1.5 system-ui, sans-serif; }
.soft { color: var(--soft); }
.wide { overflow-x: auto; }
code { overflow-wrap: anywhere; }
table { width: 100%; border-collapse: collapse; }
tr { border-bottom: 1px solid var(--line); }
`;

/** API documentation. */
export const DOCS_STYLE = `${BASE_STYLE}body {
  margin: 0;
  display: grid;
  grid-template-columns: minmax(14rem, 20rem) minmax(0, 1fr);
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
form { display: flex; flex-wrap: wrap; gap: 0.25rem 0.5rem; }
form label { width: 100%; font-weight: 700; }
form input { flex: 1; min-width: 0; }
form :is(input, button) {
  font: inherit;
  color: inherit;
  background: var(--shade);
  border: 1px solid var(--soft);
  border-radius: 0.25rem;
  padding: 0.3rem 0.5rem;
}
h2, h3 { margin: 0; overflow-wrap: anywhere; }
section > h3 { margin-top: 1.5rem; }
summary { cursor: pointer; padding: 0.5rem 0; }
summary :is(h2, h3) { display: inline; }
summary h2 { font-size: 1.25rem; }
summary h3 { font-size: 1rem; }
.group { border-bottom: 1px solid var(--line); }
section > details { border-top: 1px solid var(--line); padding-left: 1rem; }
section, article { padding-bottom: 1rem; scroll-margin-top: 4rem; }
h4 { margin: 1rem 0 0.25rem; }
article:target, tr:target { background: var(--shade); }
small { color: var(--soft); }
code, pre, .method { font-family: ui-monospace, monospace; font-size: 0.9em; }
td:first-child > code:only-child { white-space: nowrap; }
pre { overflow-x: auto; padding: 0.75rem; background: var(--shade); border-radius: 0.25rem; }
th, td { padding: 0.35rem 0.75rem 0.35rem 0; text-align: left; vertical-align: top; }
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
  nav { position: static; height: auto; border-right: 0; border-bottom: 1px solid var(--line); }
  nav h2 { display: inline-block; margin: 0.25rem 1rem 0.25rem 0; }
  nav ul { display: none; }
  main { padding: 1rem; }
  section > details { padding-left: 0; }
}
@media print { nav { display: none; } body { display: block; } }
`;

/** Report on one agent, for an agent that was denied. */
export const AGENT_REPORT_STYLE = `${BASE_STYLE}body {
  margin: 0 auto;
  max-width: 46rem;
  padding: 2rem 1rem 4rem;
}
h1 { font-size: 1.5rem; line-height: 1.25; margin: 0 0 0.25rem; overflow-wrap: anywhere; }
h2 { font-size: 1.15rem; margin: 2.25rem 0 0.5rem; }
p, ul, dl { margin: 0.5rem 0; }
dl { display: grid; grid-template-columns: repeat(auto-fit, minmax(9rem, 1fr)); gap: 0.75rem; }
dl div { padding: 0.6rem 0.8rem; background: var(--shade); border-radius: 0.4rem; }
dt { color: var(--soft); font-size: 0.85rem; }
dd { margin: 0; font-size: 1.15rem; font-variant-numeric: tabular-nums; }
ol.against { list-style: none; margin: 0; padding: 0; }
ol.against li { padding: 0.75rem 0; border-bottom: 1px solid var(--line); }
ol.against p { margin: 0; }
ol.against .soft { margin-top: 0.2rem; }
code { font: 0.85em ui-monospace, monospace; }
table { font-size: 0.92rem; }
th, td { padding: 0.4rem 0.75rem 0.4rem 0; text-align: left; vertical-align: top; }
th { color: var(--soft); font-weight: 500; }
td.n { font-variant-numeric: tabular-nums; white-space: nowrap; }
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

/** Reports of training runs and back-tests; printable. */
export const KAIZEN_REPORT_STYLE = `${BASE_STYLE}:root{--old:light-dark(#0072b2,#6cb8ea);--new:light-dark(#c4500a,#f2914d);--good:light-dark(#00644b,#5fd3a8);
--bad:light-dark(#a3201a,#ff8f86);--warn:light-dark(#7d5200,#ffc46b)}
body{max-width:62rem;margin:2rem auto;padding:0 1rem}
h1{line-height:1.2;margin-bottom:.3rem}h2{margin-top:3rem;border-top:2px solid var(--line);
padding-top:1.2rem;line-height:1.25}h3{margin:1.8rem 0 .4rem}
table{margin:.6rem 0}
th,td{text-align:left;padding:.4rem .6rem;vertical-align:top}
td.n,th.n{text-align:right;font-variant-numeric:tabular-nums;white-space:nowrap}
table.facts th{width:12rem;font-weight:600}table.facts{background:var(--shade)}
.pass{color:var(--good)}.fail{color:var(--bad)}.warn{color:var(--warn)}
td.pass,td.fail,td.warn{font-weight:600;white-space:nowrap}
.lead{font-size:1.1rem;margin:.2rem 0 1rem}details,figcaption{color:var(--soft)}
.question{font-weight:600;display:block}.gate{color:var(--soft);white-space:nowrap}
details{margin-top:.2rem;font-size:.9rem}summary{cursor:pointer}
.plots{display:grid;grid-template-columns:repeat(auto-fit,minmax(25rem,1fr));gap:1.2rem}
figure{margin:0;break-inside:avoid}figcaption{font-size:.92rem}figure h4{margin:.2rem 0}
svg{width:100%;height:auto;display:block}svg text{fill:var(--soft);font-size:12px}
svg.interval{width:220px;max-width:none}svg text.name{fill:var(--ink);font-size:14px}
.middle{text-anchor:middle}.end{text-anchor:end}.tick{font-size:11px}
.frame{fill:none;stroke:var(--line)}.grid{stroke:var(--line);stroke-width:.6}
.axis{stroke:var(--soft)}.perfect{stroke:var(--soft);stroke-dasharray:3 4;stroke-width:1.5}
.line{fill:none;stroke-width:2.2}.champion{stroke:var(--old)}.challenger{stroke:var(--new)}
.error{fill:none;stroke-width:1.8;opacity:.9}
.line.champion{stroke-dasharray:7 4}
.bar{stroke:none}.bar.champion{fill:var(--old);opacity:.75}.bar.challenger{fill:var(--new)}
circle.challenger{fill:var(--new)}rect.champion{fill:var(--old)}
.key{white-space:nowrap;margin-right:1.4rem}.key i{display:inline-block;width:1.9em;
border-top:3px solid;vertical-align:middle;margin-right:.45em}
.key.old{color:var(--old)}.key.new{color:var(--new)}
.key.old i{border-color:var(--old);border-top-style:dashed}.key.new i{border-color:var(--new)}
.wide:focus-visible{outline:2px solid var(--old)}
.warnings{list-style:none;padding:0}
.line.good{stroke:var(--old)}.line.bad{stroke:var(--new)}.line.live{stroke-dasharray:7 4}
.wide table{font-size:.94rem}.wide th,.wide td{padding:.4rem .35rem}.wide th.n{white-space:normal}.wide th[rowspan]{min-width:6.5rem}
.boundname{fill:var(--ink);font-size:13px;paint-order:stroke;stroke:var(--ground);stroke-width:5}
.bound{stroke:var(--ink);stroke-width:1.4}.bound.live{stroke-dasharray:4 4}
.spot{stroke:var(--ground);stroke-width:1.2}.spot.good{fill:var(--old)}.spot.bad{fill:var(--new)}
.key.good{color:var(--old)}.key.bad{color:var(--new)}.key.live i{border-top-style:dashed}
@media(max-width:30rem){.plots{grid-template-columns:1fr}}`;

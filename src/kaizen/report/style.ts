// Style sheet of a report page: light and dark, printable, nothing loaded. Blue and orange of Okabe
// and Ito's palette separate old from new for every kind of colour vision; so do dashes and shapes.
export const KAIZEN_REPORT_STYLE = `
:root{color-scheme:light dark;--ink:#1b1b1b;--paper:#fff;--soft:#5c5c5c;--rule:#d6d6d6;
--card:#f6f7f8;--old:#0072b2;--new:#c4500a;--good:#00644b;--bad:#a3201a;--warn:#7d5200}
@media(prefers-color-scheme:dark){:root{--ink:#ececec;--paper:#161719;--soft:#b0b0b0;
--rule:#43464a;--card:#1f2124;--old:#6cb8ea;--new:#f2914d;--good:#5fd3a8;--bad:#ff8f86;
--warn:#ffc46b}}
body{font:16px/1.5 system-ui,sans-serif;color:var(--ink);background:var(--paper);
max-width:62rem;margin:2rem auto;padding:0 1rem}
h1{line-height:1.2;margin-bottom:.3rem}h2{margin-top:3rem;border-top:2px solid var(--rule);
padding-top:1.2rem;line-height:1.25}h3{margin:1.8rem 0 .4rem}
table{border-collapse:collapse;width:100%;margin:.6rem 0}
th,td{text-align:left;padding:.4rem .6rem;border-bottom:1px solid var(--rule);
vertical-align:top}
td.n,th.n{text-align:right;font-variant-numeric:tabular-nums;white-space:nowrap}
table.facts th{width:12rem;font-weight:600}table.facts{background:var(--card)}
.pass{color:var(--good)}.fail{color:var(--bad)}.warn{color:var(--warn)}
td.pass,td.fail,td.warn{font-weight:600;white-space:nowrap}
.lead{font-size:1.1rem;margin:.2rem 0 1rem}.soft,details,figcaption{color:var(--soft)}
.question{font-weight:600;display:block}.gate{color:var(--soft);white-space:nowrap}
details{margin-top:.2rem;font-size:.9rem}summary{cursor:pointer}
.plots{display:grid;grid-template-columns:repeat(auto-fit,minmax(25rem,1fr));gap:1.2rem}
figure{margin:0;break-inside:avoid}figcaption{font-size:.92rem}figure h4{margin:.2rem 0}
svg{width:100%;height:auto;display:block}svg text{fill:var(--soft);font-size:12px}
svg.interval{width:220px;max-width:none}svg text.name{fill:var(--ink);font-size:14px}
.middle{text-anchor:middle}.end{text-anchor:end}.tick{font-size:11px}
.frame{fill:none;stroke:var(--rule)}.grid{stroke:var(--rule);stroke-width:.6}
.axis{stroke:var(--soft)}.perfect{stroke:var(--soft);stroke-dasharray:3 4;stroke-width:1.5}
.line{fill:none;stroke-width:2.2}.champion{stroke:var(--old)}.challenger{stroke:var(--new)}
.error{stroke-width:1.2;opacity:.65}
.line.champion{stroke-dasharray:7 4}
.bar{stroke:none}.bar.champion{fill:var(--old);opacity:.75}.bar.challenger{fill:var(--new)}
circle.challenger{fill:var(--new)}rect.champion{fill:var(--old)}
.key{white-space:nowrap;margin-right:1.4rem}.key i{display:inline-block;width:1.9em;
border-top:3px solid;vertical-align:middle;margin-right:.45em}
.key.old{color:var(--old)}.key.new{color:var(--new)}
.key.old i{border-color:var(--old);border-top-style:dashed}.key.new i{border-color:var(--new)}
.wide{overflow-x:auto}.wide:focus-visible{outline:2px solid var(--old)}
.warnings{list-style:none;padding:0}code{overflow-wrap:anywhere}
.line.good{stroke:var(--old)}.line.bad{stroke:var(--new)}.line.live{stroke-dasharray:7 4}
.wide table{font-size:.94rem}.wide th,.wide td{padding:.4rem .35rem}.wide th.n{white-space:normal}.wide th[rowspan]{min-width:6.5rem}
.boundname{fill:var(--ink);font-size:13px;paint-order:stroke;stroke:var(--paper);stroke-width:5}
.bound{stroke:var(--ink);stroke-width:1.4}.bound.live{stroke-dasharray:4 4}
.spot{stroke:var(--paper);stroke-width:1.2}.spot.good{fill:var(--old)}.spot.bad{fill:var(--new)}
.key.good{color:var(--old)}.key.bad{color:var(--new)}.key.live i{border-top-style:dashed}
@media(max-width:30rem){.plots{grid-template-columns:1fr}}`;

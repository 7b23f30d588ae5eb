/** The style sheet of the status page and of reports: for screens, phones and A4. */
export const STYLE = `
:root { color-scheme: light; --ink: #1a1f26; --soft: #57606b; --line: #dfe3e8; --page: #fff; --tint: #fdf0ef; --good: #13703a;
  --bad: #b3261e; --wait: #7a5600; --link: #0b57d0; --draw: #2f6fd6; --pale: #b9cdec; }
@media screen and (prefers-color-scheme: dark) {
  :root { color-scheme: dark; --ink: #e8ebee; --soft: #a0aab4; --line: #2c333b; --page: #12161b; --tint: #2e1b1b; --good: #62d392;
    --bad: #ff9389; --wait: #ecc06a; --link: #8cb8ff; --draw: #78a9ff; --pale: #33507d; }
}
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 1.5rem; max-width: 96rem; color: var(--ink); background: var(--page);
  font: 15px/1.45 system-ui, 'Segoe UI', 'Liberation Sans', sans-serif; font-variant-numeric: tabular-nums; print-color-adjust: exact; }
header { display: flex; flex-wrap: wrap; gap: .3rem 1rem; align-items: baseline; }
h1 { margin: 0; font-size: 1.4rem; letter-spacing: -.01em; }
h2 { margin: 0 0 .2rem; font-size: 1.15rem; }
p, form, nav { margin: .8rem 0; }
a { color: var(--link); }
small, .soft { color: var(--soft); font-weight: 400; }
small { font-size: .8rem; }
.good { color: var(--good); } .bad { color: var(--bad); } .wait { color: var(--wait); }
.scroll { overflow-x: auto; }
table { width: 100%; border-collapse: collapse; }
tr { background: var(--page); }
th, td { padding: .5rem .6rem; text-align: left; vertical-align: top; border-bottom: 1px solid var(--line); font-weight: 400; }
thead th { color: var(--soft); font-size: .82rem; font-weight: 600; vertical-align: bottom; border-color: var(--soft); }
tbody th { position: sticky; left: 0; background: inherit; overflow-wrap: anywhere; }
.number { text-align: right; white-space: nowrap; }

.status tbody th { min-width: 12rem; max-width: 22rem; }
.status th b { font-weight: 650; }
.status td small, .status th small { display: block; }
tr.branch th { padding-left: 1.8rem; }
tr.fails { background: var(--tint); }
.badge { padding: 0 .5rem; border: 1px solid; border-radius: 1rem; font-size: .8rem; font-weight: 600; }
.tile { display: inline-block; margin-right: .6rem; padding: .3rem .8rem; border: 1px solid; border-radius: .6rem; font-size: 1.15rem; }
.inside { min-width: 7rem; }
.inside b { font-size: 1.15rem; }
.state, .curve { white-space: nowrap; }
.curve svg { display: block; width: 8rem; height: 2.1rem; }
.curve path { fill: none; stroke: var(--draw); stroke-width: 1.5; vector-effect: non-scaling-stroke; }
.curve .now { stroke: var(--soft); stroke-dasharray: 2 2; }
.polls { min-width: 17rem; font-size: .9rem; overflow-wrap: anywhere; }
.alert { padding: .7rem .9rem; background: var(--tint); border: 1px solid; border-radius: .6rem; overflow-wrap: anywhere; }
input, button { font: inherit; color: inherit; background: var(--page); border: 1px solid var(--soft); border-radius: .4rem; padding: .3rem .7rem; }

.report { max-width: 60rem; }
.report section { margin: 1.5rem 0 2.4rem; }
.report table { font-size: .9rem; }
.report th, .report td { padding: .26rem .5rem; text-align: right; white-space: nowrap; }
.report th:first-child { padding-left: 0; text-align: left; }
.report td.note { min-width: 6rem; text-align: left; white-space: normal; color: var(--soft); }
.names tbody th { white-space: normal; }
tfoot th, tfoot td { font-weight: 650; border: 0; }
.chart { position: relative; margin: 1.1rem 0 2rem; padding-left: 3.2rem; }
.chart .scale { position: absolute; left: 0; width: 2.8rem; text-align: right; line-height: 1; transform: translateY(-50%); }
.plot { display: flex; align-items: flex-end; height: 9.5rem; border-bottom: 1px solid var(--soft);
  background: linear-gradient(var(--line) 1px, transparent 1px) 0 0 / 100% 50%; }
.bar { position: relative; flex: 1 1 0; min-width: 0; height: 100%; display: flex; align-items: flex-end; justify-content: center;
  margin: 0 calc(10% / var(--bars)); }
.bar i { flex: 1 1 0; max-width: 2.2rem; background: var(--draw); }
.bar small { position: absolute; top: 100%; left: 50%; transform: translateX(-50%); padding-top: .25rem; white-space: nowrap; }
.lacks::after { content: '▼'; position: absolute; bottom: calc(100% * var(--top)); font-size: .7rem; color: var(--bad); }
.key { font-size: .8rem; color: var(--soft); }
.key i { display: inline-block; width: .7rem; height: .7rem; background: var(--draw); }
.key span { margin-right: .9rem; }
i.before { background: var(--pale); }
i.part { background: repeating-linear-gradient(135deg, var(--draw) 0 3px, var(--page) 3px 5px); }

@media (max-width: 40rem) {
  body { padding: .75rem; }
  .minor { display: none; }
  .status tbody th { min-width: 8.5rem; max-width: 11rem; }
  tr.branch th { padding-left: 1.2rem; }
}
@media print {
  @page { size: A4; margin: 15mm; }
  body { padding: 0; max-width: none; font-size: 9.5pt; }
  .top { break-inside: avoid; break-after: avoid; }
  tr, .short { break-inside: avoid; }
  .scroll { overflow: visible; }
  tfoot { display: table-row-group; }
}
`;

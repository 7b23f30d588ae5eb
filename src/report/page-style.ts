/** The style sheet of a report in HTML, for screens, phones and A4. */
export const PAGE_STYLE = `
:root { --ink: #1a1f26; --soft: #57606b; --line: #dfe3e8; --draw: #2f6fd6; --before: #b9cdec; --gap: #b3261e; }
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 1.5rem; max-width: 60rem; color: var(--ink); background: #fff;
  font: 15px/1.45 system-ui, 'Segoe UI', 'Liberation Sans', sans-serif; font-variant-numeric: tabular-nums;
  print-color-adjust: exact; -webkit-print-color-adjust: exact; }
h1 { margin: 0; font-size: 1.5rem; letter-spacing: -.01em; }
h2 { margin: 0 0 .2rem; font-size: 1.15rem; }
p { margin: .3rem 0; }
.soft { color: var(--soft); }
header { margin-bottom: 1.5rem; }
section { margin: 0 0 2.4rem; }
.scroll { overflow-x: auto; }
table { width: 100%; border-collapse: collapse; font-size: .9rem; }
th, td { padding: .26rem .5rem; text-align: right; border-bottom: 1px solid var(--line); white-space: nowrap; }
th { font-weight: 600; }
thead th { color: var(--soft); font-size: .8rem; white-space: normal; vertical-align: bottom; border-bottom-color: var(--soft); }
th:first-child, td:first-child { text-align: left; padding-left: 0; }
td.note { min-width: 6rem; text-align: left; white-space: normal; color: var(--soft); }
tbody th { font-weight: 400; }
.names tbody th { white-space: normal; }
tfoot th, tfoot td { font-weight: 650; border-bottom: 0; border-top: 1px solid var(--soft); }
.gap { color: var(--gap); font-weight: 600; }
.chart { position: relative; margin: 1.1rem 0 2rem; padding-left: 3.2rem; }
.plot { position: relative; display: flex; align-items: flex-end; height: 9.5rem; border-bottom: 1px solid var(--soft);
  background: linear-gradient(var(--line), var(--line)) 0 0 / 100% 1px no-repeat,
    linear-gradient(var(--line), var(--line)) 0 50% / 100% 1px no-repeat; }
.chart .scale { position: absolute; left: 0; width: 2.8rem; text-align: right; font-size: .75rem; line-height: 1;
  color: var(--soft); transform: translateY(-50%); }
.bar { position: relative; flex: 1 1 0; min-width: 0; height: 100%; display: flex; align-items: flex-end;
  justify-content: center; margin: 0 calc(10% / var(--bars)); }
.bar i { display: block; flex: 1 1 0; max-width: 2.2rem; background: var(--draw); }
.bar small { position: absolute; top: 100%; left: 50%; transform: translateX(-50%); padding-top: .25rem;
  font-size: .75rem; color: var(--soft); white-space: nowrap; }
.bar.lacks::after { content: '▼'; position: absolute; bottom: calc(100% * var(--top)); left: 50%;
  transform: translateX(-50%); font-size: .7rem; line-height: 1.3; color: var(--gap); }
.key { font-size: .8rem; color: var(--soft); }
.key i { display: inline-block; width: .7rem; height: .7rem; margin: 0 .3rem 0 .9rem; background: var(--draw); }
.key i:first-child { margin-left: 0; }
.bar i.before, .key i.before { background: var(--before); }
.bar i.part, .key i.part { background: repeating-linear-gradient(135deg, var(--draw) 0 3px, #fff 3px 5px); }
.key b { margin: 0 .3rem 0 .9rem; color: var(--gap); font-size: .7rem; }
.gaps { margin: .6rem 0 0; font-size: .9rem; }
@media (max-width: 40rem) {
  body { padding: 1rem; }
  .minor { display: none; }
  .chart { padding-left: 2.6rem; }
  .chart .scale { width: 2.3rem; }
  .bar small { font-size: .65rem; }
  th, td { padding: .26rem .35rem; }
}
@media print {
  @page { size: A4; margin: 15mm; }
  body { padding: 0; max-width: none; font-size: 9.5pt; }
  .top { break-inside: avoid; break-after: avoid; }
  tr { break-inside: avoid; }
  .short { break-inside: avoid; }
  .scroll { overflow: visible; }
  thead { display: table-header-group; }
  tfoot { display: table-row-group; }
}
`;

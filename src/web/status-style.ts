/** The looks of the status page: one style element, allowed by its hash and nothing beside it. */
import { createHash } from 'node:crypto';

export const STYLE = `
:root { color-scheme: light dark; --ink: #1b1f24; --soft: #5d6670; --line: #d9dee3; --page: #f6f7f9;
  --card: #fff; --good: #1a7f45; --bad: #b3261e; --bad-soft: #fdecea; --wait: #8a6100; --link: #0b57d0; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e6e9ec; --soft: #9aa4ae; --line: #31373e; --page: #121518; --card: #1b1f24;
    --good: #5fce8d; --bad: #ff8a80; --bad-soft: #3a1d1b; --wait: #e9bc62; --link: #8ab4f8; } }
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 1.5rem; max-width: 84rem; color: var(--ink); background: var(--page);
  font: 15px/1.45 system-ui, sans-serif; }
header { display: flex; flex-wrap: wrap; gap: .3rem 1.2rem; align-items: baseline; margin-bottom: 1rem; }
h1 { margin: 0; font-size: 1.3rem; }
a { color: var(--link); }
p, nav { color: var(--soft); margin: .6rem 0; }
nav a { margin-right: 1rem; }
.scroll { overflow-x: auto; }
table { width: 100%; border-collapse: collapse; background: var(--card); border: 1px solid var(--line); }
th, td { padding: .55rem .75rem; text-align: left; vertical-align: top; border-top: 1px solid var(--line); }
thead th { border-top: 0; color: var(--soft); font-weight: 600; font-size: .85rem; white-space: nowrap; }
tbody th { font-weight: 600; overflow-wrap: anywhere; min-width: 12rem; }
small { color: var(--soft); font-weight: 400; font-size: .85rem; }
tbody th small { display: block; }
.polls { width: 34%; min-width: 18rem; }
.polls small { margin-left: .2rem; white-space: nowrap; }
.error small { margin: 0; }
.inside { white-space: nowrap; }
th.number, td.number { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
.trouble { background: var(--bad-soft); }
.good { color: var(--good); } .bad { color: var(--bad); } .wait { color: var(--wait); }
.unknown { color: var(--soft); }
.state { white-space: nowrap; }
.state .good, .state .unknown { font-weight: 600; }
.error { color: var(--bad); overflow-wrap: anywhere; }
meter { display: block; width: 7rem; height: .7rem; margin-top: .2rem; }
ul { list-style: none; margin: 0; padding: 0; }
li + li { margin-top: .2rem; }
@media (max-width: 46rem) {
  body { padding: 1rem .75rem; }
  table, tbody { display: block; border: 0; background: none; }
  thead { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); }
  tbody tr { display: grid; grid-template-columns: repeat(3, 1fr); gap: .5rem .75rem; margin-bottom: .75rem;
    padding: .8rem; background: var(--card); border: 1px solid var(--line); border-radius: .5rem; }
  tbody tr.trouble { background: var(--bad-soft); }
  tbody th, tbody td, tbody td.number { padding: 0; border: 0; text-align: left; background: none; white-space: normal; }
  tbody td.polls { width: auto; min-width: 0; }
  tbody th { grid-column: span 2; }
  .full { grid-column: 1 / -1; }
  td::before { content: attr(data-label); display: block; color: var(--soft); font-size: .78rem; }
  meter { width: 100%; }
}
`;

const STYLE_HASH = createHash('sha256').update(STYLE).digest('base64');

/** Nothing is loaded, run, framed or sent anywhere; this one style is applied. */
export const CONTENT_SECURITY_POLICY = [
  "default-src 'none'",
  `style-src 'sha256-${STYLE_HASH}'`,
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');

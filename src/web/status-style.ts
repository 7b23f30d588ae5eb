/** The style sheet of the status page. The content security policy allows it by its hash. */
import { createHash } from 'node:crypto';

export const STYLE = `
:root { color-scheme: light dark; --ink: #1a1f26; --soft: #57606b; --line: #e1e5ea; --page: #f4f6f8;
  --card: #fff; --track: #e4e8ed; --good: #13703a; --bad: #b3261e; --bad-soft: #fdf0ef; --wait: #7a5600;
  --wait-soft: #fff6e0; --link: #0b57d0; --draw: #2f6fd6; --draw-soft: #2f6fd626; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e8ebee; --soft: #a0aab4; --line: #2c333b; --page: #0f1317; --card: #181d23; --track: #2c343d;
    --good: #62d392; --bad: #ff9389; --bad-soft: #2e1b1b; --wait: #ecc06a; --wait-soft: #2c2517;
    --link: #8cb8ff; --draw: #78a9ff; --draw-soft: #78a9ff2e; } }
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 1.5rem; max-width: 92rem; color: var(--ink); background: var(--page);
  font: 15px/1.45 system-ui, sans-serif; font-variant-numeric: tabular-nums; }
header { display: flex; flex-wrap: wrap; gap: .3rem 1rem; align-items: baseline; }
header a:first-of-type { margin-left: auto; }
h1 { margin: 0; font-size: 1.35rem; letter-spacing: -.01em; }
a { color: var(--link); }
p { margin: .8rem 0; }
b { font-size: 1.15rem; }
small, .soft { color: var(--soft); font-weight: 400; }
small { font-size: .8rem; }
.hidden { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); white-space: nowrap; }
.summary { display: flex; flex-wrap: wrap; gap: .6rem; margin: 1.1rem 0; }
.summary div { display: flex; flex-direction: column-reverse; justify-content: flex-end; min-width: 7.5rem; padding: .6rem .9rem; background: var(--card);
  border: 1px solid var(--line); border-radius: .6rem; }
.summary dt { color: var(--soft); font-size: .85rem; }
.summary dd { margin: 0; font-size: 1.6rem; font-weight: 650; line-height: 1.2; }
.fails, .fails dd { color: var(--bad); } .waits, .waits dd { color: var(--wait); }
.works, .works dd { color: var(--good); }
form { display: flex; flex-wrap: wrap; gap: .5rem .6rem; align-items: center; margin: .8rem 0; }
form .soft { margin: 0 0 0 auto; }
input, button { font: inherit; color: inherit; background: var(--card); border: 1px solid var(--soft);
  border-radius: .4rem; padding: .35rem .7rem; }
input { width: 16rem; max-width: 100%; }
button { cursor: pointer; }
:focus-visible { outline: 2px solid var(--link); outline-offset: 2px; }
nav { display: flex; gap: 1.2rem; margin: 1rem 0; }
.scroll { overflow-x: auto; border: 1px solid var(--line); border-radius: .6rem; background: var(--card); }
table { width: 100%; border-collapse: collapse; }
th, td { padding: .7rem .8rem; text-align: left; vertical-align: top; border-top: 1px solid var(--line); }
thead th { border-top: 0; color: var(--soft); font-weight: 600; font-size: .82rem; white-space: nowrap; }
tbody th { font-weight: 650; overflow-wrap: anywhere; min-width: 10rem; max-width: 20rem; }
tbody th small { display: block; }
th.number, td.number { text-align: right; white-space: nowrap; }
td.number { font-size: 1.05rem; }
td.number small { display: block; }
tr.warns { box-shadow: inset 3px 0 var(--wait); }
tr.bad { background: var(--bad-soft); box-shadow: inset 3px 0 var(--bad); }
.badge { display: inline-block; margin-top: .25rem; padding: 0 .5rem; border: 1px solid; border-radius: 1rem;
  font-size: .8rem; font-weight: 600; white-space: nowrap; }
.problem { display: block; } .problem .badge { white-space: normal; }
.badge.bad { color: var(--bad); background: var(--bad-soft); }
.badge.wait { color: var(--wait); background: var(--wait-soft); }
.state span { white-space: nowrap; font-weight: 600; }
.state small { display: block; margin-left: 1.1rem; }
.state .open { color: var(--good); }
.state .closed { color: var(--soft); }
.open::before { content: '● '; } .closed::before { content: '○ '; }
.inside { min-width: 8rem; }
.inside small { display: block; }
.inside span { white-space: nowrap; }
meter { display: block; width: 100%; height: .5rem; margin-top: .35rem; appearance: none; border: 0;
  border-radius: .25rem; background: var(--track); overflow: hidden; }
meter::-webkit-meter-inner-element { display: block; }
meter::-webkit-meter-bar { height: .5rem; border: 0; border-radius: .25rem; background: var(--track); }
meter::-webkit-meter-optimum-value { background: var(--draw); }
meter::-webkit-meter-suboptimum-value { background: var(--bad); }
meter:-moz-meter-optimum::-moz-meter-bar { background: var(--draw); }
meter:-moz-meter-sub-optimum::-moz-meter-bar { background: var(--bad); }
.series { min-width: 8.8rem; white-space: nowrap; }
.spark { display: block; width: 100%; height: 2.1rem; }
.spark path { fill: none; stroke-width: 1.5; vector-effect: non-scaling-stroke; }
.spark .ground { stroke: var(--track); }
.spark .area { fill: var(--draw-soft); }
.spark .line { stroke: var(--draw); stroke-linejoin: round; }
.spark .now { stroke: var(--soft); stroke-width: 1; stroke-dasharray: 2 2; }
.polls { width: 24rem; min-width: 17rem; font-size: .9rem; }
.polls small { display: block; margin-left: 1.1rem; }
tr.branches > td { padding-top: 0; border-top: 0; }
summary { cursor: pointer; }
.branches table { margin-top: .4rem; }
.branches th, .branches td { padding: .45rem .8rem; }
.branches .inside { max-width: 14rem; }
.branches p { margin: .4rem .8rem; }
.last { white-space: nowrap; }
ul { list-style: none; margin: 0; padding: 0; }
.error { margin: .3rem 0 0; color: var(--bad); overflow-wrap: anywhere; }
.seen { margin: .2rem 0 0; }
.alert { overflow-wrap: anywhere; padding: .7rem .9rem; color: var(--bad); background: var(--bad-soft); border: 1px solid; border-radius: .6rem; }
.empty { padding: 2rem; text-align: center; color: var(--soft); background: var(--card); border: 1px solid var(--line);
  border-radius: .6rem; }
@media (max-width: 78rem) {
  body { padding: 1rem .75rem; }
  .summary div { flex: 1; min-width: 5.5rem; }
  input { flex: 1; min-width: 8rem; }
  form .soft { margin: 0; width: 100%; }
  .scroll { border: 0; background: none; overflow: visible; }
  table, tbody { display: block; }
  thead { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); }
  tbody { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(19rem, 100%), 1fr)); gap: .75rem; align-items: start; }
  tbody tr { display: grid; grid-template-columns: repeat(3, minmax(0, 1fr)); gap: .6rem .75rem; padding: .9rem;
    background: var(--card); border: 1px solid var(--line); border-radius: .6rem; }
  tbody th, tbody td, tbody td.number { padding: 0; border: 0; text-align: left; min-width: 0; width: auto; max-width: none; }
  tbody th { grid-column: span 2; font-size: 1.05rem; }
  tbody .state { text-align: right; }
  tbody .state::before { display: none; }
  tbody .inside, tbody .series, tbody .polls { min-width: 0; width: auto; }
  .inside span { white-space: normal; }
  tbody .series { grid-column: span 2; }
  tbody .polls, tbody .last, tbody .parent, tbody .branches { grid-column: 1 / -1; }
  .parent { border-bottom: 0; border-radius: .6rem .6rem 0 0; }
  .branches { margin-top: -.75rem; border-top: 0; border-radius: 0 0 .6rem .6rem; }
  tbody tr.branches, .branches td[colspan] { display: block; }
  .branches tbody tr { gap: .6rem .3rem; padding: .6rem 0 .6rem .4rem; border-width: 1px 0 0; border-radius: 0; }
  .branches tbody th, .branches tbody td { padding: 0; }
  td::before { content: attr(data-label); display: block; white-space: normal; color: var(--soft); font-size: .78rem; }
}
`;

const STYLE_HASH = createHash('sha256').update(STYLE).digest('base64');

/** Forbids scripts, frames and every other resource. */
export const CONTENT_SECURITY_POLICY = [
  "default-src 'none'",
  `style-src 'sha256-${STYLE_HASH}'`,
  "base-uri 'none'",
  "form-action 'self'",
  "frame-ancestors 'none'",
].join('; ');

/** The accuracy of the occupancy estimate as a table for docs/occupancy.md. */
import { alignTable } from '../table.ts';
import type { Accuracy } from './measure.ts';
import { LIBRARIES } from './visitors.ts';

/**
 * What the specification of the method found: small, branch, town, univ. Without dead and late doors, for which
 * it estimated where there is no estimate now.
 */
const SPECIFIED: Readonly<Record<string, readonly number[]>> = {
  'u98/98': [0.99, 0.94, 0.98, 1.0],
  'u95/95': [0.9, 0.86, 0.96, 1.01],
  'b97/95': [0.83, 0.74, 0.52, 0.43],
  'b95/97': [0.76, 0.54, 0.43, 0.28],
  'b90/95': [0.66, 0.36, 0.29, 0.2],
  'b95/90': [0.61, 0.49, 0.34, 0.25],
  bydoor: [0.71, 0.57, 0.98, 1.01],
  drift: [0.58, 0.39, 0.24, 0.15],
  season: [0.88, 0.77, 0.66, 0.4],
  sudden: [0.79, 0.57, 0.38, 0.35],
  groups: [0.68, 0.41, 0.3, 0.2],
  groupsym: [0.95, 0.94, 0.96, 0.99],
  doubles: [0.81, 0.86, 0.9, 1.0],
  dblbias: [0.7, 0.45, 0.33, 0.22],
  bursts: [0.76, 0.75, 0.83, 0.98],
  flow: [0.67, 0.41, 0.47, 0.94],
  flowsym: [0.87, 0.83, 0.93, 0.98],
  cleaners: [0.87, 0.92, 0.97, 1.0],
  cleanbias: [0.68, 0.73, 0.58, 0.45],
};
/** A value that is worse by more than this is bold. */
const TOLERANCE = 0.05;
const BRANCH_TOLERANCE = 0.03;

/**
 * Each cell: relative error ± standard error, coverage, and the share of minutes withheld unless it is 0;
 * beside it the relative error of the library as a branch, bold if it is larger by too much.
 * Libraries that never have an estimate are left out.
 */
export function occupancyTable(cells: readonly Accuracy[]): string {
  const libraries = Object.keys(LIBRARIES).filter((library) =>
    cells.some((cell) => cell.library === library && cell.withheld < 1),
  );
  const regimes = Map.groupBy(cells, ({ regime }) => regime);
  return alignTable([
    ['regime', ...libraries.flatMap((library) => [library, 'as a branch'])],
    ...Array.from(regimes, ([regime, ofRegime]) => [
      regime,
      ...libraries.flatMap((library, i) => {
        const accuracy = ofRegime.find((cell) => cell.library === library);
        return accuracy
          ? [cellText(accuracy, SPECIFIED[regime]?.[i]), branchText(accuracy)]
          : ['', ''];
      }),
    ]),
  ]);
}

function branchText({ branchError, relativeError, rawError, withheld }: Accuracy): string {
  if (withheld === 1 || rawError === 0) {
    return '';
  }
  const isWorse = branchError > relativeError + BRANCH_TOLERANCE;
  return isWorse ? `**${branchError.toFixed(2)}**` : branchError.toFixed(2);
}

function cellText(
  { relativeError, standardError, rawError, coverage, withheld }: Accuracy,
  specified: number | undefined,
): string {
  if (withheld === 1) {
    return 'no estimate';
  }
  const isWorse = specified !== undefined && relativeError > specified + TOLERANCE;
  const error =
    rawError === 0 ? 'exact' : `${relativeError.toFixed(2)} ± ${standardError.toFixed(2)}`;
  return [
    isWorse ? `**${error}**` : error,
    `${Math.round(coverage * 100)} %`,
    ...(withheld >= 0.0005 ? [`${(withheld * 100).toFixed(1)} %`] : []),
  ].join(', ');
}

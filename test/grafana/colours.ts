/** Grafana's colours by name, of the dark theme and of the light one, and how well text on them can be read. */

type Themes = readonly [dark: string, light: string];

/** As `createVisualizationColors` of @grafana/data 12.4 has them. */
const NAMED: Readonly<Record<string, Themes>> = {
  red: ['#F2495C', '#E02F44'],
  orange: ['#FF9830', '#FF780A'],
  yellow: ['#FADE2A', '#F2CC0C'],
  green: ['#73BF69', '#56A64B'],
  'semi-dark-green': ['#56A64B', '#37872D'],
  blue: ['#5794F2', '#3274D9'],
  purple: ['#B877D9', '#A352CC'],
  gray: ['#808080', '#808080'],
  'dark-red': ['#C4162A', '#AD0317'],
};
/** What a panel is filled with. */
const PANEL: Themes = ['#181B1F', '#FFFFFF'];
/** The text of the theme, which is the text on a panel without a colour. */
const TEXT: Themes = ['#CCCCDC', '#24292E'];
/** What Grafana writes on colours, and from which brightness on it is the second. */
const ON_COLOURS = ['#F7F8FA', '#202226'] as const;
const BRIGHT = 180;

/** The contrast of text in the colour, in the theme where it is lower. Throws for a name that is not known. */
export function contrastOfText(colour: string): number {
  const text = colour === 'text' ? TEXT : themesOf(colour);
  return Math.min(contrast(text[0], PANEL[0]), contrast(text[1], PANEL[1]));
}

/** The contrast of what Grafana writes on a background of the colour, in the theme where it is lower. */
export function contrastOnBackground(colour: string): number {
  if (colour === 'transparent' || colour === 'text') {
    return contrastOfText('text');
  }
  return Math.min(...themesOf(colour).map((one) => contrast(one, textOn(one))));
}

function textOn(colour: string): string {
  const [red = 0, green = 0, blue = 0] = channels(colour);
  const brightness = (299 * red + 587 * green + 114 * blue) / 1_000;
  return brightness > BRIGHT ? ON_COLOURS[1] : ON_COLOURS[0];
}

function themesOf(colour: string): Themes {
  const known = colour.startsWith('#') ? ([colour, colour] as const) : NAMED[colour];
  if (known === undefined) {
    throw new Error(`unknown colour ${colour}`);
  }
  return known;
}

/** By WCAG 2. */
function contrast(a: string, b: string): number {
  const [light = 0, dark = 0] = [luminance(a), luminance(b)].toSorted((x, y) => y - x);
  return (light + 0.05) / (dark + 0.05);
}

function luminance(colour: string): number {
  const [red = 0, green = 0, blue = 0] = channels(colour).map((channel) => {
    const share = channel / 255;
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}

function channels(colour: string): readonly number[] {
  return [1, 3, 5].map((at) => Number.parseInt(colour.slice(at, at + 2), 16));
}

/** WCAG 2.2, success criterion 1.4.3: the least contrast of text. */
const MIN_CONTRAST = 4.5
/** The background of reports in dark mode. */
const DARK_BACKGROUND = '#111827'
const DEFAULT_ACCENT = '#0b5cad'
/** Parts of the way to black. A step is too small to be seen. */
const STEPS = 256

/** The colors of a report, as `#rrggbb`. */
export interface AccentColors {
  /** For surfaces and lines. */
  readonly accent: string
  /** The same hue for text on white, dark enough to be read. */
  readonly text: string
  /** The same hue for text on the dark background of pages, light enough to be read. */
  readonly onDark: string
  /** Text upon a surface: black or white. */
  readonly upon: string
}

/** @param chosen what the workspace has set */
export function accentColors(chosen: string | null): AccentColors {
  const accent = /^#[\da-f]{6}$/i.test(chosen ?? '') ? `${chosen}` : DEFAULT_ACCENT
  return { accent, text: readable(accent), onDark: readableOnDark(accent), upon: readableUpon(accent) }
}

/**
 * The contrast of a color with white, from 1 to 21 (WCAG 2.2, “contrast ratio”).
 * @param color `#rrggbb`
 */
export function contrastWithWhite(color: string): number {
  return 1.05 / (luminance(color) + 0.05)
}

/** The lightest shade between the color and black that can be read on white. */
function readable(color: string): string {
  for (let step = STEPS; step > 0; step -= 1) {
    const shade = darkened(color, step / STEPS)
    if (contrastWithWhite(shade) >= MIN_CONTRAST) return shade
  }
  return '#000000'
}

/** The darkest shade between the color and white that can be read on the dark background. */
function readableOnDark(color: string): string {
  for (let step = 0; step <= STEPS; step += 1) {
    const shade = lightened(color, step / STEPS)
    if ((luminance(shade) + 0.05) / (luminance(DARK_BACKGROUND) + 0.05) >= MIN_CONTRAST) return shade
  }
  return '#ffffff'
}

/** The better one always has a contrast of at least 4.58. */
function readableUpon(color: string): string {
  const contrastWithBlack = (luminance(color) + 0.05) / 0.05
  return contrastWithWhite(color) >= contrastWithBlack ? '#ffffff' : '#000000'
}

function darkened(color: string, share: number): string {
  const parts = channels(color).map((part) => Math.floor(part * share))
  return `#${parts.map((part) => part.toString(16).padStart(2, '0')).join('')}`
}

function lightened(color: string, share: number): string {
  const parts = channels(color).map((part) => Math.ceil(part + (255 - part) * share))
  return `#${parts.map((part) => part.toString(16).padStart(2, '0')).join('')}`
}

function luminance(color: string): number {
  const [red = 0, green = 0, blue = 0] = channels(color).map((channel) => {
    const part = channel / 255
    return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4
  })
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue
}

function channels(color: string): number[] {
  return [1, 3, 5].map((start) => Number.parseInt(color.slice(start, start + 2), 16))
}

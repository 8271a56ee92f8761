/**
 * Colors of texts that can be read. Contrast is that of WCAG 2.2, from 1 to 21 (https://www.w3.org/TR/WCAG22/#dfn-contrast-ratio).
 * Colors are `#rrggbb`; opacity after it is ignored.
 */

/** Success criterion 1.4.3, level AA, for texts of any size. */
export const READABLE = 4.5

const [BLACK, WHITE] = ['#000000', '#ffffff']
type Rgb = readonly [red: number, green: number, blue: number]

function rgbOf(color: string): Rgb {
  return [color.slice(1, 3), color.slice(3, 5), color.slice(5, 7)].map((part) => Number.parseInt(part, 16)) as [
    number,
    number,
    number,
  ]
}

function luminance(rgb: Rgb): number {
  const [red, green, blue] = rgb.map((value) => {
    const share = value / 255
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4
  }) as [number, number, number]
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue
}

function contrast(one: Rgb, other: Rgb): number {
  const [dark = 0, light = 0] = [luminance(one), luminance(other)].toSorted((a, b) => a - b)
  return (light + 0.05) / (dark + 0.05)
}

export function contrastOf(one: string, other: string): number {
  return contrast(rgbOf(one), rgbOf(other))
}

/** The first color that can be read on a ground, or the one with the most contrast: black and white are tried last. */
export function readableOn(ground: string, ...colors: readonly string[]): string {
  const all = [...colors, WHITE, BLACK]
  const best = () => all.toSorted((a, b) => contrastOf(b, ground) - contrastOf(a, ground))[0] ?? BLACK
  return all.find((color) => contrastOf(color, ground) >= READABLE) ?? best()
}

/** A shade is at least this strong, so that it hides details behind small letters. */
const MIN_OPACITY = 0.55

/**
 * A color with opacity that makes a text readable on every picture below it, however bright or dark.
 * @param preferred used if the text can be read on it at all; otherwise black or white
 */
export function shadeFor(text: string, preferred: string): string {
  const color = contrastOf(text, preferred) >= READABLE ? preferred : readableOn(text)
  const [ink, shade] = [rgbOf(text), rgbOf(color)]
  const isEnough = (opacity: number) =>
    [0, 255].every((picture) => {
      const mixed = shade.map((value) => value * opacity + picture * (1 - opacity)) as [number, number, number]
      return contrast(ink, mixed) >= READABLE
    })
  let opacity = MIN_OPACITY
  while (opacity < 1 && !isEnough(opacity)) opacity += 0.02
  const hex = Math.ceil(Math.min(1, opacity) * 255).toString(16)
  return `${color.slice(0, 7)}${hex.padStart(2, '0')}`
}

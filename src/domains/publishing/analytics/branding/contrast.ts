/** WCAG 2.2, success criterion 1.4.3: the least contrast of text. */
export const LEAST_CONTRAST = 4.5

/**
 * The contrast of a colour with white, from 1 to 21 (WCAG 2.2, “contrast ratio”).
 * @param colour `#rrggbb`
 */
export function contrastWithWhite(colour: string): number {
  const [red = 0, green = 0, blue = 0] = [1, 3, 5].map((start) => {
    const part = Number.parseInt(colour.slice(start, start + 2), 16) / 255
    return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4
  })
  return 1.05 / (0.2126 * red + 0.7152 * green + 0.0722 * blue + 0.05)
}

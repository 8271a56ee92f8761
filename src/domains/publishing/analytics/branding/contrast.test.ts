import { expect, test } from 'vitest'
import { accentColors, contrastWithWhite } from './contrast.ts'

test.each([
  ['#000000', 21],
  ['#ffffff', 1],
  // The lightest grey that text may have on white.
  ['#767676', 4.54],
  ['#777777', 4.48],
  ['#ff0000', 4],
])('%s has a contrast of %d with white', (color, contrast) => {
  expect(contrastWithWhite(color)).toBeCloseTo(contrast, 2)
})

test.each([
  // Readable colors stay as they are, light ones get darker, and greys stay grey.
  ['#0b5cad', '#0b5cad', '#ffffff'],
  ['#767676', '#767676', '#000000'],
  ['#1f2937', '#1f2937', '#ffffff'],
  ['#ffee00', '#817800', '#000000'],
  ['#ffffff', '#767676', '#000000'],
  [null, '#0b5cad', '#ffffff'],
])('text of the accent %s is %s, and text upon it %s', (chosen, text, upon) => {
  expect(accentColors(chosen)).toMatchObject({ accent: chosen ?? '#0b5cad', text, upon })
})

test('each accent gives readable text', () => {
  const steps = ['00', '33', '66', '99', 'cc', 'ff']
  const colors = steps.flatMap((red) => steps.flatMap((green) => steps.map((blue) => `#${red}${green}${blue}`)))
  for (const color of colors) {
    const { onDark, text, upon } = accentColors(color)
    // The dark background has a contrast of 17.74 with white.
    expect(17.74 / contrastWithWhite(onDark), color).toBeGreaterThanOrEqual(4.49)
    expect(contrastWithWhite(text), color).toBeGreaterThanOrEqual(4.5)
    const withWhite = contrastWithWhite(color)
    expect(upon === '#ffffff' ? withWhite : 21 / withWhite, color).toBeGreaterThanOrEqual(4.5)
  }
})

import { expect, test } from 'vitest'
import { contrastWithWhite } from './contrast.ts'

test.each([
  ['#000000', 21],
  ['#ffffff', 1],
  // The lightest grey that text may have on white.
  ['#767676', 4.54],
  ['#777777', 4.48],
  ['#ff0000', 4],
])('%s has a contrast of %d with white', (colour, contrast) => {
  expect(contrastWithWhite(colour)).toBeCloseTo(contrast, 2)
})

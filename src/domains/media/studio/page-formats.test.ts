import { expect, test } from 'vitest'
import { PAGE_FORMATS } from './page-formats.ts'

test.each(Object.entries(PAGE_FORMATS))(
  '%s has a source with its month, and fits the platforms it names',
  (_name, one) => {
    const { about, height, source, width } = one
    expect(source).toMatch(/\(.*2026-\d\d\)/)
    // Videos need even numbers.
    expect([width % 2, height % 2]).toEqual([0, 0])
    // LinkedIn takes fewer than 36,152,320 pixels.
    expect(width * height).toBeLessThan(36_152_320)
    // Feed pictures of Instagram are 1.91:1 to 4:5, Reels at least 540 × 960 in 9:16.
    if (about.startsWith('stories')) expect([width / height, width >= 540]).toEqual([9 / 16, true])
    else if (about.includes('Instagram'))
      expect(width / height).toSatisfy((ratio: number) => ratio >= 0.8 && ratio <= 1.91)
  },
)

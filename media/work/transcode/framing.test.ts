import { describe, expect, test } from 'vitest'
import { frame, type FrameRule } from './framing.ts'

const RULE: FrameRule = { maxWidth: 4000, maxHeight: 4000, fit: 'crop', multiple: 2 }
const HD = { width: 1920, height: 1080 }
const TALL = { width: 1080, height: 1920 }

describe('crop', () => {
  test.each([
    ['1:1', HD, 1, { width: 1080, height: 1080 }],
    ['1:1', TALL, 1, { width: 1080, height: 1080 }],
    ['4:5', HD, 4 / 5, { width: 864, height: 1080 }],
    ['9:16', HD, 9 / 16, { width: 608, height: 1080 }],
    ['9:16 from 9:16', TALL, 9 / 16, { width: 1080, height: 1920 }],
    ['16:9', TALL, 16 / 9, { width: 1080, height: 608 }],
  ])('to %s', (_name, source, aspect, size) => {
    const { crop, scaled, ...result } = frame(source, { ...RULE, aspects: [aspect, aspect] })
    expect(result).toEqual(size)
    expect(scaled).toEqual(size)
    expect(Math.abs(crop.width / crop.height - aspect)).toBeLessThan(0.002)
    expect(crop.width <= source.width && crop.height <= source.height).toBe(true)
  })
})

test('padding keeps the whole image', () => {
  const { crop, scaled, width, height } = frame(HD, {
    ...RULE,
    aspects: [1, 1],
    fit: 'pad',
    maxWidth: 500,
    maxHeight: 500,
  })
  expect({ crop, scaled, width, height }).toEqual({
    crop: HD,
    scaled: { width: 500, height: 280 },
    width: 500,
    height: 500,
  })
})

test('a range of aspect ratios crops only images outside of it', () => {
  const aspects = [4 / 5, 1.91] as const
  expect(frame(HD, { ...RULE, aspects })).toMatchObject({ width: 1920, height: 1080 })
  expect(frame(TALL, { ...RULE, aspects })).toMatchObject({ width: 1080, height: 1350 })
})

test('dimensions stay within the maximum, are enlarged only to the minimum, and are even', () => {
  expect(frame(HD, { ...RULE, maxWidth: 1281, maxHeight: 1281 })).toMatchObject({ width: 1280, height: 720 })
  expect(frame({ width: 65, height: 45 }, RULE)).toMatchObject({ width: 64, height: 44 })
  const reel = {
    ...RULE,
    maxWidth: 1080,
    maxHeight: 1920,
    minWidth: 540,
    minHeight: 960,
    aspects: [9 / 16, 9 / 16],
  } as const
  expect(frame({ width: 320, height: 240 }, reel)).toMatchObject({ width: 540, height: 960 })
  expect(frame({ width: 10_000, height: 2 }, RULE)).toMatchObject({ width: 4000, height: 2 })
})

import { describe, expect, test } from 'vitest'
import { checkFitness } from '../../../../media/work/transcode/fitness.ts'
import {
  IMAGE_PRESETS,
  VIDEO_PRESETS,
  type ImageRule,
  type VideoRule,
} from '../../../../media/work/transcode/presets.ts'
import { checkSpec, type TranscodeSpec } from '../../../../media/work/transcode/spec.ts'
import { Compile } from 'typebox/compile'
import { effectiveLimits } from '../../../platforms/rules/limits.ts'
import { PLATFORMS } from '../../../platforms/registry.ts'
import { renditionFor } from '../../../platforms/rules/renditions.ts'
import type { RuleId } from '../../../platforms/rules/rule.ts'
import { NewRendition, specOf, type RenditionSettings } from './rendition-settings.ts'

const VIDEO = { kind: 'video', mime: 'video/mp4' } as const
const IMAGE = { kind: 'image', mime: 'image/webp' } as const
const GIF = { kind: 'image', mime: 'image/gif' } as const
const AUDIO = { kind: 'audio', mime: 'audio/mpeg' } as const
const PDF = { kind: 'document', mime: 'application/pdf' } as const
/** The largest size that a rendition can be held to. */
const MAX_BYTES = 64 * 2 ** 30
type Source = typeof VIDEO | typeof IMAGE | typeof GIF | typeof AUDIO | typeof PDF

test.each<[string, RenditionSettings, Source, object]>([
  ['no settings, video', {}, VIDEO, { kind: 'video' }],
  ['no settings, GIF', {}, GIF, { kind: 'video' }],
  ['no settings, image', {}, IMAGE, { kind: 'image' }],
  ['no settings, PDF', {}, PDF, { kind: 'image' }],
  ['no settings, audio', {}, AUDIO, { kind: 'audio' }],
  ['preset for videos and images, video', { preset: 'x' }, VIDEO, { kind: 'video', preset: 'x' }],
  ['preset for videos and images, image', { preset: 'x' }, IMAGE, { kind: 'image', preset: 'x' }],
  ['preset for videos and images, GIF', { preset: 'x' }, GIF, { kind: 'video', preset: 'x' }],
  ['preset for images only, GIF', { preset: 'instagram' }, GIF, { kind: 'image', preset: 'instagram' }],
  ['a still image of a GIF', { codec: 'jpeg' }, GIF, { kind: 'image', format: 'jpeg' }],
  ['the audio of a video', { codec: 'aac', loudness: null }, VIDEO, { kind: 'audio', format: 'm4a', loudness: null }],
  [
    'dimensions and an aspect ratio',
    { width: 720, height: 900, crop: '4:5', fit: 'pad' },
    VIDEO,
    { kind: 'video', maxWidth: 720, maxHeight: 900, aspect: '4:5', fit: 'pad' },
  ],
])('builds the specification: %s', (_name, settings, source, spec) => {
  const made = specOf(settings, source)
  expect(made).toEqual(spec)
  checkSpec(made as TranscodeSpec)
})

test('gives equivalent settings the same specification', () => {
  const one = specOf({ width: 100, crop: '1:1', codec: 'h264' }, VIDEO)
  expect(JSON.stringify(one)).toBe(JSON.stringify(specOf({ crop: '1:1', width: 100 }, VIDEO)))
})

test('builds the specification of a preview', () => {
  expect(specOf({ preset: 'preview' }, VIDEO)).toEqual({ kind: 'preview' })
})

test.each<[RenditionSettings, Source, RegExp]>([
  [{ preset: 'preview', crf: 20 }, VIDEO, /`crf` does not apply to a preview/],
  [{ preset: 'preview' }, GIF, /made only from videos/],
  [{ preset: 'instagram-reel' }, IMAGE, /cannot make an image\. Presets for an image: .*instagram/],
  [{ preset: 'instagram' }, VIDEO, /cannot make a video\. Presets for a video: .*instagram-reel/],
  [{ preset: 'x' }, AUDIO, /no presets for audio/],
  [{ preset: 'x', codec: 'mp3' }, VIDEO, /no presets for audio/],
  [{ fps: 30 }, IMAGE, /`fps` does not apply to an image/],
  [{ trim: { to: 3 } }, IMAGE, /`trim` does not apply to an image/],
  [{ quality: 30 }, VIDEO, /`quality` does not apply to a video/],
  [{ crop: '1:1' }, AUDIO, /`crop` does not apply to audio/],
  [{ trim: { from: 3, to: 3 } }, VIDEO, /must end after it begins/],
])('refuses %o for %o', (settings, source, message) => {
  expect(() => specOf(settings, source)).toThrow(message)
})

describe('fitness of the file', () => {
  const video = { ...VIDEO, seconds: 4, hasAudio: true }
  test.each<[TranscodeSpec, Parameters<typeof checkFitness>[1], RegExp]>([
    [{ kind: 'image' }, video, /use its thumbnails/],
    [{ kind: 'video' }, { ...IMAGE, seconds: null, hasAudio: null }, /neither video nor audio/],
    [{ kind: 'video' }, { ...AUDIO, seconds: 3, hasAudio: true }, /no video/],
    [{ kind: 'audio' }, { ...video, hasAudio: false }, /no audio/],
    [{ kind: 'audio' }, { ...GIF, seconds: 1, hasAudio: null }, /no audio/],
    [{ kind: 'video', trim: { from: 4 } }, video, /starts at 4 s, but the file is 4\.0 s long/],
    [
      { kind: 'video', preset: 'x' },
      { ...video, seconds: 141 },
      /preset x allows at most 140 s, but this is 141\.0 s\. Trim the file/,
    ],
    [{ kind: 'video', preset: 'pinterest', trim: { to: 2 } }, video, /pinterest requires at least 4 s/],
  ])('refuses %o', (spec, source, message) => {
    expect(() => checkFitness(spec, source)).toThrow(message)
  })

  test('accepts specifications while facts about the file are unknown', () => {
    checkFitness({ kind: 'video', preset: 'x', trim: { from: 100 } }, { ...VIDEO, seconds: null, hasAudio: null })
    checkFitness({ kind: 'audio' }, { ...VIDEO, seconds: null, hasAudio: null })
    checkFitness({ kind: 'video', preset: 'x', trim: { to: 100 } }, { ...video, seconds: 1000 })
  })
})

test('the schema accepts every preset, and only values within bounds', () => {
  const schema = Compile(NewRendition)
  for (const preset of [...Object.keys(VIDEO_PRESETS), ...Object.keys(IMAGE_PRESETS)]) {
    expect(schema.Check({ preset }), preset).toBe(true)
  }
  for (const wrong of [
    { preset: 'myspace' },
    { codec: 'gif' },
    { width: 8 },
    { fps: 1e9 },
    { trim: { from: '0 -i /' } },
  ]) {
    expect(schema.Check(wrong), JSON.stringify(wrong)).toBe(false)
  }
})

/** The presets for a platform: `x`, `facebook-reel`. */
function presetsOf<T>(presets: Readonly<Record<string, T>>, key: string): (readonly [string, T])[] {
  return Object.entries(presets).filter(([name]) => name === key || name.startsWith(`${key}-`))
}

describe.each(PLATFORMS.map((platform) => [platform.key, platform] as const))('the presets for %s', (key, platform) => {
  const { byId } = effectiveLimits(platform)
  /** The value of a rule that the platform enforces. */
  const rule = (id: string) => {
    const limit = byId.get(id as RuleId)
    return limit?.effect === undefined && typeof limit?.value === 'number' ? limit.value : undefined
  }
  const expectWithin = (kind: string, preset: string, name: string, value: number | undefined) => {
    const limit = rule(`${kind}.${name}`)
    const isMost = name.startsWith('max')
    // A rendition is never larger than this, whatever a preset says.
    const made = value ?? (name === 'maxBytes' ? MAX_BYTES : isMost ? Infinity : 0)
    if (limit === undefined) return
    const label = `${preset}: ${name} is ${made}, and the platform has ${limit}`
    if (isMost) expect(made, label).toBeLessThanOrEqual(limit)
    else expect(made, label).toBeGreaterThanOrEqual(limit)
  }

  test('make videos that it takes', () => {
    for (const [name, preset] of presetsOf<VideoRule>(VIDEO_PRESETS, key)) {
      const { maxBytes, maxFps, maxSeconds, minFps, minHeight, minSeconds, minWidth } = preset
      const values = { maxBytes, maxFps, maxSeconds, minFps, minHeight, minSeconds, minWidth }
      for (const [limit, value] of Object.entries(values)) expectWithin('video', name, limit, value)
    }
  })

  test('make images that it takes', () => {
    for (const [name, preset] of presetsOf<ImageRule>(IMAGE_PRESETS, key)) {
      const { aspects: [minRatio, maxRatio] = [], format, maxBytes, maxHeight, maxWidth, minHeight, minWidth } = preset
      const together = { maxPixels: maxWidth * maxHeight, maxSides: maxWidth + maxHeight }
      const values = { maxBytes, maxRatio, minHeight, minRatio, minWidth, ...together }
      for (const [limit, value] of Object.entries(values)) expectWithin('image', name, limit, value)
      expect(byId.get('image.types')?.value ?? [`image/${format}`]).toContain(`image/${format}`)
    }
  })
})

test.each(PLATFORMS.map((platform) => [platform.key, platform] as const))(
  'the fixes that are offered for posts on %s are possible renditions',
  (_key, platform) => {
    const limits = effectiveLimits(platform)
    const large = { id: 'a', name: 'a', bytes: 1e12, width: 20_000, height: 900, seconds: 1e6, fps: 240 }
    const files = [
      [{ ...large, kind: 'image', type: 'image/webp' }, IMAGE],
      [{ ...large, kind: 'gif', type: 'image/gif' }, GIF],
      [{ ...large, kind: 'video', type: 'video/webm', videoCodec: 'vp9' }, VIDEO],
    ] as const
    for (const [file, source] of files) {
      const settings: RenditionSettings | undefined = renditionFor(limits, file)
      if (settings === undefined) continue
      expect(Compile(NewRendition).Check(settings)).toBe(true)
      const spec = specOf(settings, source) as TranscodeSpec
      expect(() => checkSpec(spec)).not.toThrow()
    }
  },
)

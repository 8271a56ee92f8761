import { describe, expect, test } from 'vitest'
import { checkFitness } from '../../../../media/work/transcode/fitness.ts'
import { IMAGE_PRESETS, VIDEO_PRESETS } from '../../../../media/work/transcode/presets.ts'
import { checkSpec, type TranscodeSpec } from '../../../../media/work/transcode/spec.ts'
import { Compile } from 'typebox/compile'
import { NewRendition, specOf, type RenditionSettings } from './rendition-settings.ts'

const VIDEO = { kind: 'video', mime: 'video/mp4' } as const
const IMAGE = { kind: 'image', mime: 'image/webp' } as const
const GIF = { kind: 'image', mime: 'image/gif' } as const
const SOUND = { kind: 'audio', mime: 'audio/mpeg' } as const
const PDF = { kind: 'document', mime: 'application/pdf' } as const
type Source = typeof VIDEO | typeof IMAGE | typeof GIF | typeof SOUND | typeof PDF

test.each<[string, RenditionSettings, Source, object]>([
  ['nothing, of a video', {}, VIDEO, { kind: 'video' }],
  ['nothing, of a GIF', {}, GIF, { kind: 'video' }],
  ['nothing, of a picture', {}, IMAGE, { kind: 'image' }],
  ['nothing, of a PDF', {}, PDF, { kind: 'image' }],
  ['nothing, of sound', {}, SOUND, { kind: 'audio' }],
  ['a preset for both, of a video', { preset: 'x' }, VIDEO, { kind: 'video', preset: 'x' }],
  ['a preset for both, of a picture', { preset: 'x' }, IMAGE, { kind: 'image', preset: 'x' }],
  ['a preset for both, of a GIF', { preset: 'x' }, GIF, { kind: 'video', preset: 'x' }],
  ['a preset for pictures, of a GIF', { preset: 'instagram' }, GIF, { kind: 'image', preset: 'instagram' }],
  ['a still of a GIF', { codec: 'jpeg' }, GIF, { kind: 'image', format: 'jpeg' }],
  ['the sound of a video', { codec: 'aac', loudness: null }, VIDEO, { kind: 'audio', format: 'm4a', loudness: null }],
  [
    'a size and a shape',
    { width: 720, height: 900, crop: '4:5', fit: 'pad' },
    VIDEO,
    { kind: 'video', maxWidth: 720, maxHeight: 900, aspect: '4:5', fit: 'pad' },
  ],
])('%s', (_name, settings, source, spec) => {
  const made = specOf(settings, source)
  expect(made).toEqual(spec)
  checkSpec(made as TranscodeSpec)
})

test('one spelling for settings that mean the same', () => {
  const one = specOf({ width: 100, crop: '1:1', codec: 'h264' }, VIDEO)
  expect(JSON.stringify(one)).toBe(JSON.stringify(specOf({ crop: '1:1', width: 100 }, VIDEO)))
})

test('a preview of a video has no settings', () => {
  expect(specOf({ preset: 'preview' }, VIDEO)).toEqual({ kind: 'preview' })
})

test.each<[RenditionSettings, Source, RegExp]>([
  [{ preset: 'preview', crf: 20 }, VIDEO, /`crf` means nothing for a preview/],
  [{ preset: 'preview' }, GIF, /made of videos/],
  [{ preset: 'instagram-reel' }, IMAGE, /does not make a picture\. For a picture there are: .*instagram/],
  [{ preset: 'instagram' }, VIDEO, /does not make a video\. For a video there are: .*instagram-reel/],
  [{ preset: 'x' }, SOUND, /Sound has no presets/],
  [{ preset: 'x', codec: 'mp3' }, VIDEO, /Sound has no presets/],
  [{ fps: 30 }, IMAGE, /`fps` means nothing for a picture/],
  [{ trim: { to: 3 } }, IMAGE, /`trim` means nothing for a picture/],
  [{ quality: 30 }, VIDEO, /`quality` means nothing for a video/],
  [{ crop: '1:1' }, SOUND, /`crop` means nothing for sound/],
  [{ trim: { from: 3, to: 3 } }, VIDEO, /ends after it begins/],
])('%o of %o makes no sense', (settings, source, words) => {
  expect(() => specOf(settings, source)).toThrow(words)
})

describe('what the file does not have', () => {
  const video = { ...VIDEO, seconds: 4, hasAudio: true }
  test.each<[TranscodeSpec, Parameters<typeof checkFitness>[1], RegExp]>([
    [{ kind: 'image' }, video, /ask for thumbnails/],
    [{ kind: 'video' }, { ...IMAGE, seconds: null, hasAudio: null }, /neither a video nor sound/],
    [{ kind: 'video' }, { ...SOUND, seconds: 3, hasAudio: true }, /no picture/],
    [{ kind: 'audio' }, { ...video, hasAudio: false }, /no sound/],
    [{ kind: 'audio' }, { ...GIF, seconds: 1, hasAudio: null }, /no sound/],
    [{ kind: 'video', trim: { from: 4 } }, video, /4\.0 s long: there is nothing after 4 s/],
    [{ kind: 'video', preset: 'x' }, { ...video, seconds: 141 }, /x takes 140 s at most, this is 141\.0 s\. Trim it/],
    [{ kind: 'video', preset: 'pinterest', trim: { to: 2 } }, video, /pinterest takes 4 s at least/],
  ])('%o', (spec, source, words) => {
    expect(() => checkFitness(spec, source)).toThrow(words)
  })

  test('what is not known is not held against it', () => {
    checkFitness({ kind: 'video', preset: 'x', trim: { from: 100 } }, { ...VIDEO, seconds: null, hasAudio: null })
    checkFitness({ kind: 'audio' }, { ...VIDEO, seconds: null, hasAudio: null })
    checkFitness({ kind: 'video', preset: 'x', trim: { to: 100 } }, { ...video, seconds: 1000 })
  })
})

test('every preset can be asked for, and nothing that is not a number within bounds or one of a list', () => {
  const takes = Compile(NewRendition)
  for (const preset of [...Object.keys(VIDEO_PRESETS), ...Object.keys(IMAGE_PRESETS)]) {
    expect(takes.Check({ preset }), preset).toBe(true)
  }
  for (const wrong of [
    { preset: 'myspace' },
    { codec: 'gif' },
    { width: 8 },
    { fps: 1e9 },
    { trim: { from: '0 -i /' } },
  ]) {
    expect(takes.Check(wrong), JSON.stringify(wrong)).toBe(false)
  }
})

import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { PostContent, PostMedia } from '../content.ts'
import { countText, countUpTo } from './counting.ts'
import { check } from './engine.ts'
import { applyFix, fixesOf } from './fixes.ts'
import { effectiveLimits } from './limits.ts'
import type { CountingMethod, Rule } from './rule.ts'
import { spansOf } from './spans.ts'
import { splitText, textOf, type SplitOptions } from './split.ts'

const SOURCE = { source: 'docs.example', seen: '2026-11', confidence: 'read' } as const

/** Pieces of texts that are hard to count or to cut. */
const piece = fc.oneof(
  fc.constantFrom(
    'word',
    'a',
    'Sentence.',
    'Why?',
    '\n\n',
    '\n',
    '  ',
    'naïve',
    'e\u0301e\u0301',
    '漢字仮名交じり文',
    '한국어',
  ),
  fc.constantFrom('👍🏽', '👩‍👩‍👧‍👦', '🇩🇪', '1️⃣', 'नमस्ते', 'ก็'),
  fc.constantFrom('https://example.com/a?b=c', 'www.example.org', '@name', '@name@example.social', '#tag', '#漢字'),
  fc.string({ unit: 'grapheme', minLength: 1, maxLength: 12 }),
)
const text = fc
  .array(piece, { minLength: 1, maxLength: 60 })
  .map((pieces) => pieces.join(' '))
  .filter((one) => one.isWellFormed() && one.trim() !== '')
const method = fc.constantFrom<CountingMethod>(
  'characters',
  'graphemes',
  'bytes',
  'utf16',
  'x_weighted',
  'mastodon',
  'threads',
)

const GRAPHEMES = new Intl.Segmenter('en', { granularity: 'grapheme' })

/** Where the parts are in the text. Fails if anything but whitespace lies between them. */
function placesOf(whole: string, parts: readonly string[]): number[] {
  let at = 0
  const places = parts.map((part) => {
    at += (/^\s*/.exec(whole.slice(at))?.[0] ?? '').length
    expect(whole.slice(at, at + part.length)).toBe(part)
    const place = at
    at += part.length
    return place
  })
  expect(whole.slice(at).trim()).toBe('')
  return places
}

const EMPTY: PostContent = { text: '', media: [], options: {} }
const textLimits = (most: number) =>
  effectiveLimits({
    rules: [
      { id: 'text.max', value: most, counting: 'graphemes', ...SOURCE },
      { id: 'thread.max', value: 25, ...SOURCE },
    ],
  })

/** The texts of the parts. */
function textsOf(whole: string, options: SplitOptions): string[] | undefined {
  return splitText(whole, options)?.map((part) => textOf(whole, part))
}

describe('the work for a long text is bounded', () => {
  const long = 'Lorem ipsum dolor sit amet. '.repeat(2_000)

  it('a split looks at the parts and not at the rest of the text', () => {
    let looked = 0
    const fits = (part: string) => {
      looked += part.length
      return part.length <= 280
    }
    expect(splitText(long, { fits, mostParts: 25 })).toBeUndefined()
    // About 20 looks at each part, of which a few are too long.
    expect(looked).toBeLessThan(25 * 280 * 40)
  })

  it('only the first part is looked for if others do not matter', () => {
    let looks = 0
    const fits = (part: string) => {
      looks += 1
      return part.length <= 280
    }
    expect(splitText(long, { fits, mostParts: long.length, firstOnly: true })).toHaveLength(1)
    expect(looks).toBeLessThan(40)
  })

  it('only the start of a text that is far too long is counted', () => {
    expect(countUpTo('x_weighted', long, 280)).toEqual({ isLeast: true, length: 4_000 + 8 * 280 - 23 })
    expect(countUpTo('graphemes', 'e\u0301'.repeat(10_000), 300)).toMatchObject({ isLeast: true })
    // Whatever is counted as little, is counted to the end.
    expect(countUpTo('graphemes', `e${'\u0301'.repeat(20_000)}`, 300)).toMatchObject({ isLeast: false, length: 1 })
    expect(countUpTo('characters', long, 280)).toMatchObject({ isLeast: false, length: long.length })
    const [problem] = check({ title: 'X' }, textLimits(280), { ...EMPTY, text: long })
    expect(problem?.message).toBe('The text has more than 6,217 graphemes; X allows 280.')
  })

  it('a text that is too long to be split gets no such offer', () => {
    const content = { ...EMPTY, text: 'word '.repeat(7_000) }
    const of = (text: string) => {
      const given = { ...content, text }
      return check({ title: 'X' }, textLimits(2_000), given).flatMap((problem) =>
        fixesOf({ title: 'X' }, textLimits(2_000), given, problem),
      )
    }
    expect(of(content.text)).toEqual([])
    expect(of(content.text.slice(0, 20_000)).map(({ kind }) => kind)).toEqual(['split'])
  })
})

describe('splitting a text', () => {
  it('gives parts within the limit that make up the text, and cuts no link, mention, hashtag or grapheme', () => {
    fc.assert(
      fc.property(text, method, fc.integer({ min: 30, max: 120 }), (whole, counting, most) => {
        const parts = textsOf(whole, { fits: (part) => countText(counting, part) <= most, mostParts: 500 })
        if (parts === undefined) {
          // Only something that must not be cut can be too long.
          const whole200 = [...spansOf(whole).map(({ end, start }) => whole.slice(start, end)), ...graphemesOf(whole)]
          expect(whole200.some((one) => countText(counting, one) > most)).toBe(true)
          return
        }
        for (const part of parts) expect(countText(counting, part)).toBeLessThanOrEqual(most)
        const cuts = placesOf(whole, parts).slice(1)
        for (const { end, start } of spansOf(whole)) expect(cuts.filter((cut) => cut > start && cut < end)).toEqual([])
        const starts = new Set(Array.from(GRAPHEMES.segment(whole), ({ index }) => index))
        expect(cuts.filter((cut) => !starts.has(cut))).toEqual([])
      }),
      { numRuns: 1_000 },
    )
  })

  it('numbers the parts within the limit', () => {
    fc.assert(
      fc.property(text, fc.integer({ min: 40, max: 80 }), (whole, most) => {
        const fits = (part: string) => countText('graphemes', part) <= most
        const parts = textsOf(whole, { fits, mostParts: 200, numbered: true })
        if (parts === undefined) return
        for (const [index, part] of parts.entries()) {
          expect(fits(part)).toBe(true)
          expect(part.endsWith(` ${index + 1}/${parts.length}`)).toBe(true)
        }
        placesOf(
          whole,
          parts.map((part) => part.replace(/ \d+\/\d+$/, '')),
        )
      }),
      { numRuns: 300 },
    )
  })

  const split = (whole: string, most: number, mostParts = 10) =>
    textsOf(whole, { fits: (part) => part.length <= most, mostParts })

  it('prefers the end of a paragraph, then of a sentence, then of a word', () => {
    expect(split('One two.\n\nThree. Four', 15)).toEqual(['One two.', 'Three. Four'])
    expect(split('One two. Three four five', 20)).toEqual(['One two. Three four', 'five'])
    expect(split('One two three. Four five', 20)).toEqual(['One two three.', 'Four five'])
    expect(split('One two three four five', 12)).toEqual(['One two', 'three four', 'five'])
  })

  it('cuts between words of languages without spaces, and long words only where it must', () => {
    expect(split('私は東京に住んでいます', 4)?.join('')).toBe('私は東京に住んでいます')
    expect(split('a bbbbbbbbbb', 8)).toEqual(['a', 'bbbbbbbb', 'bb'])
  })

  it('gives up when a link is too long or the parts are too many', () => {
    expect(split('see https://example.com/long', 15)).toBeUndefined()
    expect(split('one two three', 5, 2)).toBeUndefined()
  })
})

function graphemesOf(whole: string): string[] {
  return Array.from(GRAPHEMES.segment(whole), ({ segment }) => segment)
}

it.each(['a-'.repeat(50_000), 'a.'.repeat(50_000), '#'.repeat(100_000), '@a.'.repeat(30_000), 'a'.repeat(100_000)])(
  'finds the links of a long hostile text in a moment',
  (text) => {
    expect(spansOf(`${text} https://example.com/`).at(-1)?.kind).toBe('link')
  },
)

const RULES: readonly Rule[] = [
  { id: 'text.max', value: 40, counting: 'graphemes', ...SOURCE },
  { id: 'caption.max', value: 20, counting: 'graphemes', ...SOURCE },
  { id: 'alt.max', value: 20, counting: 'characters', ...SOURCE },
  { id: 'thread.max', value: 5, ...SOURCE },
  { id: 'image.max', value: 4, ...SOURCE },
  { id: 'image.maxBytes', value: 2_000_000, ...SOURCE },
  { id: 'image.maxPixels', value: 4_000_000, ...SOURCE },
  { id: 'image.minRatio', value: 0.8, ...SOURCE },
  { id: 'image.maxRatio', value: 1.91, ...SOURCE },
  { id: 'image.types', value: ['image/jpeg'], ...SOURCE },
  { id: 'gif.max', value: 0, ...SOURCE },
  { id: 'video.max', value: 1, ...SOURCE },
  { id: 'video.maxBytes', value: 10_000_000, ...SOURCE },
  { id: 'video.minSeconds', value: 1, ...SOURCE },
  { id: 'video.maxSeconds', value: 60, ...SOURCE },
  { id: 'video.maxFps', value: 60, ...SOURCE },
  { id: 'video.types', value: ['video/mp4'], ...SOURCE },
  { id: 'video.codecs', value: ['h264'], ...SOURCE },
]
const platform = { title: 'Example', rules: RULES }
const limits = effectiveLimits(platform)
const base = { text: '', options: {} }

function fixed(content: PostContent) {
  return check(platform, limits, content).flatMap((problem) => fixesOf(platform, limits, content, problem))
}

function settingsFor(file: Partial<PostMedia> & Pick<PostMedia, 'kind' | 'type'>) {
  const media = [{ id: 'a', name: 'a', bytes: 1_000, width: 1_000, height: 1_000, ...file }]
  return fixed({ ...base, media }).flatMap((fix) => (fix.kind === 'rendition' ? [fix.settings] : []))
}

describe('renditions', () => {
  it('makes a JPEG of a PNG', () => {
    expect(settingsFor({ kind: 'image', type: 'image/png' })).toEqual([{ codec: 'jpeg', maxBytes: 2_000_000 }])
  })

  it('makes an MP4 of a GIF', () => {
    expect(settingsFor({ kind: 'gif', type: 'image/gif', seconds: 3, fps: 10 })).toEqual([
      { codec: 'h264', maxBytes: 10_000_000 },
    ])
  })

  it('fits shape, pixels and size at once', () => {
    const file = { kind: 'image', type: 'image/jpeg', bytes: 9_000_000, width: 4_000, height: 8_000 } as const
    const [settings, ...others] = settingsFor(file)
    expect(settings).toMatchObject({ codec: 'jpeg', crop: '4:5', fit: 'crop', maxBytes: 2_000_000 })
    expect((settings?.width ?? 0) * (settings?.height ?? 0)).toBeLessThanOrEqual(4_000_000)
    // The same rendition for each of the problems of the file.
    expect(others).toEqual([settings, settings])
  })

  it('makes an image smaller whose sides are too long together', () => {
    const small = effectiveLimits({ rules: [{ id: 'image.maxSides', value: 1_000, ...SOURCE }] })
    const image = {
      id: 'a',
      name: 'a',
      kind: 'image',
      type: 'image/jpeg',
      bytes: 1,
      width: 3_000,
      height: 1_000,
    } as const
    const content = { ...base, media: [image] }
    const [problem] = check(platform, small, content)
    const [fix] = fixesOf(platform, small, content, problem!)
    expect(fix).toMatchObject({ kind: 'rendition', settings: { codec: 'jpeg', width: 750, height: 250 } })
  })

  it('makes a video of an animation that cannot be beside other files', () => {
    const rules: Rule[] = [...RULES, { id: 'gif.max', value: 1, ...SOURCE }, { id: 'gif.mixed', value: 0, ...SOURCE }]
    const mixed = effectiveLimits({ rules: [...rules, { id: 'media.mixed', value: 1, ...SOURCE }] })
    const gif = {
      id: 'a',
      name: 'a',
      kind: 'gif',
      type: 'image/gif',
      bytes: 1,
      width: 9,
      height: 9,
      seconds: 3,
    } as const
    const image = { ...gif, id: 'b', kind: 'image', type: 'image/jpeg' } as const
    const content = { ...base, media: [gif, image] }
    const problem = check(platform, mixed, content).find(({ rule }) => rule === 'gif.mixed')
    expect(fixesOf(platform, mixed, content, problem!)).toMatchObject([
      { pointer: '/media/0', settings: { codec: 'h264' } },
    ])
  })

  it('cuts, slows down and re-encodes a video', () => {
    const file = { kind: 'video', type: 'video/webm', videoCodec: 'vp9', seconds: 90, fps: 120 } as const
    expect(settingsFor(file)[0]).toEqual({ codec: 'h264', maxBytes: 10_000_000, trim: { to: 60 }, fps: 60 })
  })

  it('offers nothing for a video that is too short', () => {
    expect(settingsFor({ kind: 'video', type: 'video/mp4', videoCodec: 'h264', seconds: 0.5, fps: 30 })).toEqual([])
  })
})

it('splits a text into a thread, and the first part is a caption', () => {
  const media: PostMedia[] = [{ id: 'a', name: 'a', kind: 'image', type: 'image/jpeg', bytes: 1, width: 9, height: 9 }]
  const content = { ...base, text: 'One two three four. Five six seven eight nine ten eleven.', media }
  const [fix] = fixed(content)
  expect(fix).toMatchObject({ kind: 'split', parts: ['One two three four.', 'Five six seven eight nine ten eleven.'] })
  const after = applyFix(content, fix!)
  expect(after).toMatchObject({ text: 'One two three four.', media, thread: [{ media: [] }] })
  expect(check(platform, limits, after)).toEqual([])
})

it('splits a part in the middle of a thread', () => {
  const long = { text: `${'word '.repeat(12)}end.`, media: [] }
  const content = { ...base, text: 'First', media: [], thread: [long, { text: 'Last', media: [] }] }
  const [fix] = fixed(content)
  const after = applyFix(content, fix!)
  expect(after.thread?.length).toBe(3)
  expect(after.thread?.at(-1)?.text).toBe('Last')
  expect(check(platform, limits, after)).toEqual([])
})

it('splits a part that has its own limit', () => {
  const rules: Rule[] = [...RULES, { id: 'thread.textMax', value: 10, counting: 'characters', ...SOURCE }]
  const tight = effectiveLimits({ rules })
  const content = {
    ...base,
    text: 'A first part of thirty letters',
    media: [],
    thread: [{ text: 'Two words too many', media: [] }],
  }
  const [problem] = check(platform, tight, content)
  const [fix] = fixesOf(platform, tight, content, problem!)
  expect(fix).toMatchObject({ kind: 'split', pointer: '/thread/0/text', parts: ['Two words', 'too many'] })
  expect(check(platform, tight, applyFix(content, fix!))).toEqual([])
})

it('does not split where the thread has no room', () => {
  const thread = Array.from({ length: 4 }, () => ({ text: 'x', media: [] }))
  expect(fixed({ ...base, text: 'word '.repeat(12), media: [], thread })).toEqual([])
})

it('shortens an alt text at a word', () => {
  const altText = 'A cat that sleeps on a sofa'
  const media: PostMedia[] = [
    { id: 'a', name: 'a', kind: 'image', type: 'image/jpeg', bytes: 1, width: 9, height: 9, altText },
  ]
  const content = { ...base, media }
  const [fix] = fixed(content)
  expect(fix).toMatchObject({ kind: 'text', pointer: '/media/0/altText', text: 'A cat that sleeps…' })
  expect(check(platform, limits, applyFix(content, fix!))).toEqual([])
})

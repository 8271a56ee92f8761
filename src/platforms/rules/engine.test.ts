import { Type } from 'typebox'
import { describe, expect, it } from 'vitest'
import type { PostContent, PostMedia } from '../content.ts'
import { mastodon } from '../mastodon/index.ts'
import { check, isAccepted } from './engine.ts'
import { effectiveLimits } from './limits.ts'
import type { Rule } from './rule.ts'

const SOURCE = { source: 'docs.example', seen: '2026-11', confidence: 'read' } as const
const RULES: readonly Rule[] = [
  { id: 'text.max', value: 20, counting: 'graphemes', ...SOURCE },
  { id: 'caption.max', value: 10, counting: 'graphemes', ...SOURCE },
  { id: 'text.maxBytes', value: 60, ...SOURCE },
  { id: 'title.max', value: 5, counting: 'characters', ...SOURCE },
  { id: 'title.required', value: 1, ...SOURCE },
  { id: 'alt.max', value: 8, counting: 'characters', ...SOURCE },
  { id: 'comment.max', value: 6, counting: 'characters', ...SOURCE },
  { id: 'link.max', value: 30, ...SOURCE },
  { id: 'link.shortened', value: 1, ...SOURCE },
  { id: 'hashtags.max', value: 1, ...SOURCE },
  { id: 'links.max', value: 2, ...SOURCE },
  { id: 'mentions.max', value: 1, ...SOURCE },
  { id: 'tags.max', value: 12, counting: 'characters', ...SOURCE },
  { id: 'thread.max', value: 2, ...SOURCE },
  { id: 'media.max', value: 4, ...SOURCE },
  { id: 'media.mixed', value: 0, ...SOURCE },
  { id: 'image.max', value: 3, ...SOURCE },
  { id: 'image.min', value: 3, ...SOURCE },
  { id: 'image.maxBytes', value: 8_000_000, ...SOURCE },
  { id: 'image.maxPixels', value: 4_000_000, ...SOURCE },
  { id: 'image.minWidth', value: 200, ...SOURCE },
  { id: 'image.minRatio', value: 0.8, ...SOURCE },
  { id: 'image.maxRatio', value: 1.91, ...SOURCE, effect: 'crops the image' },
  { id: 'image.types', value: ['image/jpeg'], ...SOURCE },
  { id: 'gif.max', value: 1, ...SOURCE },
  { id: 'video.max', value: 1, ...SOURCE },
  { id: 'video.maxSeconds', value: 60, ...SOURCE },
  { id: 'video.minFps', value: 23, ...SOURCE },
  { id: 'video.codecs', value: ['h264'], ...SOURCE },
  { id: 'schedule.minMinutes', value: 10, ...SOURCE },
  { id: 'schedule.maxDays', value: 30, ...SOURCE },
  { id: 'posts.perDay', value: 25, ...SOURCE },
  { id: 'replies.perDay', value: 100, ...SOURCE },
]
const platform = {
  title: 'Example',
  options: Type.Object({ audience: Type.Enum(['all', 'friends']) }),
  rules: RULES,
}
const limits = effectiveLimits(platform)

const image: PostMedia = {
  id: 'a',
  kind: 'image',
  type: 'image/jpeg',
  bytes: 1_000,
  name: 'a.jpg',
  width: 1_000,
  height: 1_000,
}
const video: PostMedia = {
  id: 'v',
  kind: 'video',
  type: 'video/mp4',
  bytes: 1_000,
  name: 'v.mp4',
  width: 1_080,
  height: 1_920,
  seconds: 10,
  fps: 30,
  videoCodec: 'h264',
}

function found(content: Partial<PostContent>, context = {}) {
  const post = { text: 'Hello', title: 'Title', media: [], options: { audience: 'all' }, ...content }
  return check(platform, limits, post, context)
}

/** The found problems, as rule, pointer and severity. */
function rulesOf(content: Partial<PostContent>, context = {}) {
  return found(content, context).map(({ pointer, rule, severity }) => `${severity} ${rule} ${pointer}`)
}

it('accepts a post within all limits', () => {
  expect(found({})).toEqual([])
  expect(found({ media: [image, image, image] })).toEqual([])
  expect(found({ media: [video], thread: [{ text: 'More', media: [] }], firstComment: 'First' })).toEqual([])
})

it('names the rule, limit, actual value, unit, pointer, source and fix', () => {
  expect(found({ text: 'x'.repeat(25) })).toEqual([
    {
      rule: 'text.max',
      severity: 'error',
      limit: 20,
      actual: 25,
      unit: 'graphemes',
      pointer: '/text',
      source: { origin: 'rule', title: 'docs.example', seen: '2026-11', confidence: 'read' },
      message: 'The text has 25 graphemes; Example allows 20.',
      fix: 'Shorten the text, or split it into a thread.',
    },
  ])
})

describe('texts', () => {
  it.each([
    ['a text beside files has its own limit', { text: 'x'.repeat(11), media: [video] }, ['error caption.max /text']],
    ['bytes count too', { text: '👩‍👩‍👧‍👦'.repeat(3) }, ['error text.maxBytes /text']],
    ['a title', { title: 'x'.repeat(6) }, ['error title.max /title']],
    ['a required title', { title: ' ' }, ['error title.required /title']],
    ['a first comment', { firstComment: 'x'.repeat(7) }, ['error comment.max /firstComment']],
    ['hashtags', { text: '#one #two' }, ['error hashtags.max /text']],
    ['links', { text: 'a.de b.de c.de' }, ['error links.max /text', 'warning link.shortened /text']],
    [
      'the link beside the text',
      { text: 'a.de b.de', link: 'https://c.de' },
      ['error links.max /text', 'warning link.shortened /text'],
    ],
    ['links that are the same', { text: 'a.de b.de a.de' }, ['warning link.shortened /text']],
    ['mentions', { text: '@one @two' }, ['error mentions.max /text']],
    ['tags with their commas', { tags: ['first', 'second'] }, []],
    ['tags with quotes around spaces', { tags: ['a b', 'second'] }, []],
    ['too many tags', { tags: ['first', 'second', 'x'] }, ['error tags.max /tags']],
    ['a long link', { link: `https://example.com/${'x'.repeat(20)}` }, ['error link.max /link']],
    ['a link that is none', { link: 'example' }, ['error link.invalid /link']],
    ['a shortened link', { text: 'see https://a.co' }, ['warning link.shortened /text']],
    ['half a character', { text: 'a\uD83D' }, ['error text.invalid /text']],
    ['an empty post', { text: ' ', title: '' }, ['error content.empty /text']],
    ['an alt text', { media: [{ ...video, altText: 'x'.repeat(9) }] }, ['error alt.max /media/0/altText']],
  ])('%s', (_name, content, expected) => {
    expect(rulesOf(content)).toEqual(expected)
  })
})

describe('threads', () => {
  it('checks each part where it stands', () => {
    const thread = [{ text: 'x'.repeat(21), media: [{ ...image, type: 'image/png' }] }]
    expect(rulesOf({ thread })).toEqual(['error caption.max /thread/0/text', 'error image.types /thread/0/media/0'])
    expect(rulesOf({ thread: [{ text: '', media: [] }] })).toEqual(['error content.empty /thread/0/text'])
  })

  it('limits the number of parts', () => {
    const part = { text: 'x', media: [] }
    expect(found({ thread: [part, part] })).toMatchObject([
      { rule: 'thread.max', limit: 2, actual: 3, message: 'The thread has 3 parts; Example allows 2.' },
    ])
  })

  it('has other limits for the parts after the first one, where the platform has', () => {
    const rules: Rule[] = [
      ...RULES,
      { id: 'thread.textMax', value: 5, counting: 'characters', ...SOURCE },
      { id: 'thread.mediaMax', value: 0, ...SOURCE },
    ]
    const post = { text: 'Longer', media: [image], title: 'T', options: { audience: 'all' } }
    const of = (text: string, media: PostMedia[]) =>
      check(platform, effectiveLimits({ rules }), { ...post, thread: [{ text, media }] })
    expect(of('Short', [])).toEqual([])
    expect(of('Longer', [image])).toMatchObject([
      { rule: 'thread.textMax', pointer: '/thread/0/text', message: 'The text has 6 characters; Example allows 5.' },
      { rule: 'thread.mediaMax', pointer: '/thread/0/media', actual: 1 },
    ])
  })

  it('says that a platform has none, without problems of the parts', () => {
    const none = effectiveLimits({ rules: [] })
    const post = { text: 'Hello', media: [], options: { audience: 'all' }, thread: [{ text: '', media: [] }] }
    expect(check(platform, none, post)).toMatchObject([{ rule: 'thread.max', message: 'Example has no threads.' }])
  })
})

describe('files', () => {
  it.each<[string, PostMedia[], string[]]>([
    ['too many of a kind', [image, image, image, image], ['error image.max /media']],
    ['too few of several', [image, image], ['error image.min /media']],
    ['two kinds', [image, video], ['error media.mixed /media']],
    ['a kind that the platform does not take', [{ ...image, kind: 'document' }], ['error document.max /media']],
    ['a type', [{ ...image, type: 'image/webp' }], ['error image.types /media/0']],
    ['bytes', [{ ...image, bytes: 8_000_001 }], ['error image.maxBytes /media/0']],
    ['pixels', [{ ...image, width: 2_000, height: 2_001 }], ['error image.maxPixels /media/0']],
    ['a width', [{ ...image, width: 199, height: 199 }], ['error image.minWidth /media/0']],
    ['a narrow shape', [{ ...image, width: 700 }], ['error image.minRatio /media/0']],
    ['a wide shape that is cropped', [{ ...image, width: 3_000 }], ['warning image.maxRatio /media/0']],
    ['a length', [{ ...video, seconds: 61 }], ['error video.maxSeconds /media/0']],
    ['a frame rate', [{ ...video, fps: 15 }], ['error video.minFps /media/0']],
    ['a codec', [{ ...video, videoCodec: 'vp9' }], ['error video.codecs /media/0']],
  ])('%s', (_name, media, expected) => {
    expect(rulesOf({ media })).toEqual(expected)
  })

  it('limits the sides of an image together', () => {
    const rule: Rule = { id: 'image.maxSides', value: 1_000, ...SOURCE }
    const sides = (width: number, height: number) =>
      check(platform, effectiveLimits({ rules: [rule] }), {
        text: '',
        media: [{ ...image, width, height }],
        options: { audience: 'all' },
      })
    expect(sides(600, 400)).toEqual([])
    expect(sides(600, 401)).toMatchObject([{ rule: 'image.maxSides', limit: 1_000, actual: 1_001 }])
  })

  it('has a separate rule for animated images beside other files, where the platform has one', () => {
    const rules: Rule[] = [
      { id: 'media.mixed', value: 1, ...SOURCE },
      { id: 'gif.max', value: 1, ...SOURCE },
      { id: 'gif.mixed', value: 0, ...SOURCE },
      { id: 'image.max', value: 3, ...SOURCE },
      { id: 'video.max', value: 3, ...SOURCE },
    ]
    const mixed = (...media: PostMedia[]) =>
      check(platform, effectiveLimits({ rules }), { text: '', media, options: { audience: 'all' } })
    expect(mixed(image, video)).toEqual([])
    expect(mixed(image, { ...image, kind: 'gif' })).toMatchObject([{ rule: 'gif.mixed', limit: 0 }])
    rules.splice(0, 3, { id: 'media.mixed', value: 0, ...SOURCE }, { id: 'gif.mixed', value: 1, ...SOURCE })
    expect(mixed(image, { ...image, kind: 'gif' })).toEqual([])
    expect(mixed(video, { ...image, kind: 'gif' })).toMatchObject([{ rule: 'media.mixed' }])
  })

  it('shows sizes in a unit in which they differ', () => {
    const messages = (bytes: number) => found({ media: [{ ...image, bytes }] }).map(({ message }) => message)
    expect(messages(9_400_000)).toEqual(['The image “a.jpg” has 9.4 MB; Example allows 8 MB.'])
    expect(messages(8_000_001)).toEqual(['The image “a.jpg” has 8,000,001 bytes; Example allows 8,000,000 bytes.'])
  })

  it('warns when facts of a file are not known yet', () => {
    const { fps: _fps, seconds: _seconds, ...unexamined } = video
    expect(found({ media: [unexamined] })).toMatchObject([
      { rule: 'media.unexamined', severity: 'warning', actual: 'seconds, frames per second' },
    ])
  })

  it('treats an animated image as an image where the platform has no rules for those', () => {
    const rules = RULES.filter(({ id }) => !id.startsWith('gif.'))
    const gif: PostMedia = { ...image, kind: 'gif', type: 'image/gif' }
    const post = { text: '', title: 'T', media: [gif], options: { audience: 'all' } }
    expect(check(platform, effectiveLimits({ rules }), post)).toMatchObject([{ rule: 'image.types' }])
    expect(check(platform, limits, post)).toEqual([])
  })
})

it('checks the options, and refuses those that the platform does not have', () => {
  expect(found({ options: { audience: 'nobody' } })).toMatchObject([
    { rule: 'options.invalid', pointer: '/options/audience', severity: 'error' },
  ])
  expect(found({ options: { audience: 'all', audiense: 1 } })).toMatchObject([{ pointer: '/options/audiense' }])
  expect(check({ title: 'Bare' }, limits, { text: 'a', title: 'a', media: [], options: { x: 1 } })).toMatchObject([
    { rule: 'options.invalid', pointer: '/options/x' },
  ])
})

it('warns of fields that the platform does not have', () => {
  const content = { text: 'a', title: 'a', tags: ['a'], link: 'https://a.example', firstComment: 'a', options: {} }
  const media = [{ ...image, altText: 'a' }]
  const found = check({ title: 'Bare' }, effectiveLimits({ rules: [{ ...RULES[0]!, id: 'image.max', value: 1 }] }), {
    ...content,
    media,
  })
  expect(found.map(({ pointer, rule, severity }) => `${severity} ${rule} ${pointer}`)).toEqual([
    'error comment.max /firstComment',
    'warning field.unused /title',
    'warning field.unused /link',
    'warning field.unused /tags',
    'warning field.unused /media/0/altText',
  ])
})

it('has no complaint about a link where a post can have one', () => {
  const rules: readonly Rule[] = [{ id: 'link.card', value: 1, ...SOURCE }]
  const post = { text: 'a', link: 'https://a.example', media: [], options: {} }
  expect(check({ title: 'Bare' }, effectiveLimits({ rules }), post)).toEqual([])
})

it('counts a link that is published in the text, and refuses one beside files where there is none', () => {
  const rules: readonly Rule[] = [
    { id: 'text.max', value: 20, counting: 'characters', ...SOURCE },
    { id: 'link.inText', value: 1, ...SOURCE },
    { id: 'link.shortened', value: 1, ...SOURCE },
  ]
  const rulesIn = (more: readonly Rule[], content: Partial<PostContent>) => {
    const limits = effectiveLimits({ rules: [...rules, ...more] })
    const post = { text: '', link: 'https://a.example', media: [], options: {}, ...content }
    return check({ title: 'Bare' }, limits, post).map(({ rule, severity }) => `${severity} ${rule}`)
  }
  expect(rulesIn([], { text: 'aa' })).toEqual(['warning link.shortened'])
  expect(rulesIn([], { text: 'aaa' })).toEqual(['error text.max', 'warning link.shortened'])
  expect(rulesIn([], { text: 'at https://a.example' })).toEqual(['warning link.shortened'])
  const media = [{ id: 'a', name: 'a', kind: 'document', type: 'text/plain', bytes: 1 }] as const
  const card = { id: 'link.card', value: 1, ...SOURCE } as const
  expect(rulesIn([card], { text: 'aaa' })).toEqual([])
  expect(rulesIn([card], { text: 'aaa', media })).toContain('error text.max')
  const alone = { id: 'link.withMedia', value: 0, ...SOURCE } as const
  expect(rulesIn([card, alone], { media })).toContain('error link.withMedia')
  expect(rulesIn([card, { ...alone, effect: 'drops it' }], { media })).toContain('warning link.withMedia')
  expect(rulesIn([card, alone], { text: 'https://a.example', media })).not.toContain('error link.withMedia')
})

it('checks times only where the platform schedules', () => {
  const now = Date.UTC(2026, 10, 22)
  const inMinutes = (minutes: number) => rulesOf({}, { now, platformPublishesAt: now + minutes * 60_000 })
  expect(inMinutes(9)).toEqual(['error schedule.minMinutes /scheduledAt'])
  expect(inMinutes(10)).toEqual([])
  expect(inMinutes(31 * 24 * 60)).toEqual(['error schedule.maxDays /scheduledAt'])
})

it('counts posts and replies of the day', () => {
  const thread = [{ text: 'x', media: [] }]
  expect(rulesOf({}, { used: { 'posts.perDay': 24 } })).toEqual([])
  expect(rulesOf({}, { used: { 'posts.perDay': 25 } })).toEqual(['error posts.perDay '])
  expect(rulesOf({ thread }, { used: { 'posts.perDay': 24, 'replies.perDay': 100 } })).toEqual([
    'error replies.perDay ',
  ])
})

it('says what the account is blocked from, with the reason', () => {
  const blocked = effectiveLimits(platform, undefined, { limits: {}, blocked: { video: 'Confirm your phone number.' } })
  const post = { text: '', title: 'T', media: [video], options: { audience: 'all' } }
  expect(check(platform, blocked, post)).toMatchObject([
    { rule: 'account.blocked', pointer: '/media/0', message: 'Confirm your phone number.' },
  ])
  expect(isAccepted(check(platform, blocked, { ...post, media: [], text: 'a' }))).toBe(true)
})

it('takes the live limit before that of the operator, and that before the rule', () => {
  const operator = new Map([['text.max', 1_000] as const, ['alt.max', 2_000] as const])
  const { byId } = effectiveLimits(mastodon, operator, { limits: { 'text.max': 5_000, nonsense: 1 }, blocked: {} })
  expect(byId.get('text.max')).toMatchObject({
    value: 5_000,
    counting: 'mastodon',
    source: { origin: 'live', title: 'the account, live' },
  })
  expect(byId.get('alt.max')).toMatchObject({
    value: 2_000,
    source: { origin: 'operator', title: 'your administrator' },
  })
  expect(byId.get('media.max')).toMatchObject({ value: 4, source: { origin: 'rule', confidence: 'read' } })
  expect([...byId.keys()]).not.toContain('nonsense')
})

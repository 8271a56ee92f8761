import * as fc from 'fast-check'
import type { PostMedia } from '../../src/platforms/content.ts'
import { kindFor } from '../../src/platforms/rules/check-media.ts'
import { countText } from '../../src/platforms/rules/counting.ts'
import { listOf, numberOf, type Limits } from '../../src/platforms/rules/limits.ts'
import type { RuleId } from '../../src/platforms/rules/rule.ts'
import { generatedFile } from '../../sandbox/media-facts.ts'
import type { FakePlatform } from './fake-platform.ts'

/** A file that does not exist yet. */
export interface DraftFile {
  readonly kind: PostMedia['kind']
  readonly type: string
  readonly bytes: number
  readonly altText?: string
  /** Where it differs from an ordinary file. */
  readonly facts?: FileFacts
}

type FileFacts = Partial<Pick<PostMedia, 'width' | 'height' | 'seconds' | 'fps' | 'videoCodec' | 'pages'>>

export interface DraftPart {
  readonly text: string
  readonly media: readonly DraftFile[]
}

/** A generated post. */
export interface Draft extends DraftPart {
  readonly title?: string
  readonly tags?: readonly string[]
  readonly firstComment?: string
  readonly thread?: readonly DraftPart[]
}

/** Facts within the usual limits. */
const ORDINARY: Readonly<Record<PostMedia['kind'], FileFacts>> = {
  image: { width: 1_080, height: 1_080 },
  gif: { width: 1_080, height: 1_080, seconds: 3, fps: 10 },
  video: { width: 1_080, height: 1_920, seconds: 10, fps: 30, videoCodec: 'h264' },
  document: { pages: 3 },
}

/** Adds the file of a draft to a fake platform. The file states its facts for the fake. */
export function mediaOf(peer: FakePlatform, { altText, bytes, facts, kind, type }: DraftFile): PostMedia {
  const all = { ...ORDINARY[kind], ...facts }
  const { videoCodec: codec, ...stated } = all
  return peer.file(
    {
      kind,
      type,
      ...all,
      ...(kind === 'video' && { audioCodec: 'aac' }),
      ...(altText !== undefined && { altText }),
    },
    generatedFile({ type, ...stated, ...(codec !== undefined && { codec }) }, bytes),
  )
}

const LONG_SIDE = 4_000

function shaped(width: number, height: number): FileFacts {
  return { width, height }
}

/** Facts at the limits of a kind of file, and just beyond them. */
function factsAround(limits: Limits, kind: PostMedia['kind']): FileFacts[] {
  const limit = (name: string) => numberOf(limits, `${kindFor(limits, { kind })}.${name}` as RuleId)
  const around = (name: string, step: number, of: (value: number) => FileFacts) => {
    const value = limit(name)
    return value === undefined ? [] : [value - step, value, value + step].filter((one) => one > 0).map(of)
  }
  const { height = 0, width = 0 } = ORDINARY[kind]
  const squareRoot = Math.floor(Math.sqrt(limit('maxPixels') ?? 0))
  const codecs = ['h264', 'hevc', 'vp9', 'prores']
  return [
    ...around('minSeconds', 0.25, (seconds) => ({ seconds })),
    ...around('maxSeconds', 0.25, (seconds) => ({ seconds })),
    ...around('minFps', 1, (fps) => ({ fps })),
    ...around('maxFps', 1, (fps) => ({ fps })),
    // The shape stays the same, unless the other side would be too short.
    ...around('minWidth', 9, (one) => ({
      width: one,
      height: Math.max(Math.round((one * height) / width), limit('minHeight') ?? 1),
    })),
    ...around('minHeight', 16, (one) => ({
      height: one,
      width: Math.max(Math.round((one * width) / height), limit('minWidth') ?? 1),
    })),
    // Beside the limit, because a ratio is not an exact number. No side is so long that another rule is broken first.
    ...around('minRatio', 0.005, (one) => shaped(Math.round(one * LONG_SIDE), LONG_SIDE)),
    ...around('maxRatio', 0.005, (one) => {
      const high = Math.round(LONG_SIDE / Math.max(one, 1))
      return shaped(Math.round(one * high), high)
    }),
    ...around('maxPixels', 0, () => ({ width: squareRoot, height: squareRoot })),
    ...around('maxPixels', 0, () => ({ width: squareRoot + 1, height: squareRoot + 1 })),
    ...around('maxSides', 1, (one) => ({ width: 5_000, height: one - 5_000 })),
    ...around('maxPages', 1, (pages) => ({ pages })),
    ...(listOf(limits, `${kind}.codecs` as RuleId) === undefined ? [] : codecs.map((videoCodec) => ({ videoCodec }))),
  ]
}

/** Pieces of texts that platforms count differently. */
const PIECES =
  'word|naïve|e\u0301|漢字仮名|한국어|नमस्ते|👍🏽|👩‍👩‍👧‍👦|🇩🇪|1️⃣|☕|\n|https://example.com/a?b=c|https://example.com/|#tag|#漢字|@name|@name@example.social'
const piece = fc.constantFrom(...PIECES.split('|'))

/** A text around the limit of a rule, or a short one. */
function textNear(limits: Limits, ids: readonly RuleId[]): fc.Arbitrary<string> {
  const id = ids.find((one) => limits.byId.has(one))
  const most = id === undefined ? 100 : (numberOf(limits, id) ?? 100)
  const counting = (id !== undefined && limits.byId.get(id)?.counting) || 'characters'
  const short = fc.array(piece, { minLength: 1, maxLength: 5 }).map((pieces) => pieces.join(' ').trim() || 'word')
  if (most === 0) return short
  const near = fc
    .tuple(fc.array(piece, { maxLength: 12 }), fc.integer({ min: -2, max: 2 }))
    .map(([pieces, distance]) => filled(pieces, most + distance, (text) => countText(counting, text)))
  // Long texts cost much time, so there are fewer of them.
  return fc.oneof({ weight: most > 10_000 ? 9 : 1, arbitrary: short }, { weight: 1, arbitrary: near })
}

/** A text of an exact length, which begins with some of the pieces. */
function filled(pieces: readonly string[], length: number, count: (text: string) => number): string {
  let text = ''
  for (const one of pieces) {
    const longer = `${text}${one} `.trimStart()
    if (count(`${longer}a`) > length) break
    text = longer
  }
  return `${text}${'a'.repeat(Math.max(1, length - count(text)))}`
}

const TYPES: Readonly<Record<PostMedia['kind'], readonly string[]>> = {
  image: ['image/jpeg', 'image/png', 'image/webp', 'image/bmp', 'image/jp2'],
  gif: ['image/gif'],
  video: ['video/mp4', 'video/quicktime', 'video/x-msvideo', 'video/ogg'],
  document: ['application/pdf', 'text/plain', 'application/x-sh'],
}

/** A file has room for its facts. */
const MIN_BYTES = 200

function file(limits: Limits, kind: PostMedia['kind']): fc.Arbitrary<DraftFile> {
  // Mostly a type that the platform takes, so that other rules are reached.
  const taken = TYPES[kind].filter((type) => listOf(limits, `${kind}.types` as RuleId)?.includes(type) ?? true)
  const type = fc.oneof(
    { weight: 9, arbitrary: fc.constantFrom(...(taken.length > 0 ? taken : TYPES[kind])) },
    { weight: 1, arbitrary: fc.constantFrom(...TYPES[kind]) },
  )
  const altText = sometimes(textNear(limits, ['alt.max']), 4)
  const around = factsAround(limits, kind)
  const facts = around.length === 0 ? fc.constant(undefined) : sometimes(fc.constantFrom(...around), 3)
  return fc.record({ type, altText, facts }).map(({ altText: alt, facts: some, type: one }) => ({
    kind,
    type: one,
    bytes: numberOf(limits, `${kind}.minBytes` as RuleId) ?? MIN_BYTES,
    ...(alt !== undefined && kind === 'image' && { altText: alt }),
    ...(some !== undefined && { facts: some }),
  }))
}

/** A value in one of `cases` cases, otherwise undefined. */
function sometimes<T>(arbitrary: fc.Arbitrary<T>, cases: number): fc.Arbitrary<T | undefined> {
  return fc.oneof({ weight: cases - 1, arbitrary: fc.constant(undefined) }, { weight: 1, arbitrary })
}

/** The files of a part: of one kind around its limit, or of several. */
function files(limits: Limits): fc.Arbitrary<readonly DraftFile[]> {
  const ofKind = (kind: PostMedia['kind']) => {
    const most = numberOf(limits, `${kind}.max`) ?? 1
    return fc.array(file(limits, kind), { minLength: 1, maxLength: Math.max(1, most) + 1 })
  }
  const kinds = ['image', 'gif', 'video', 'document'] as const
  const required = numberOf(limits, 'media.required') === 1
  return fc.oneof(
    { weight: required ? 1 : 6, arbitrary: fc.constant([]) },
    { weight: 3, arbitrary: ofKind('image') },
    { weight: 1, arbitrary: file(limits, 'gif').map((one) => [one]) },
    { weight: 3, arbitrary: file(limits, 'video').map((one) => [one]) },
    { weight: 1, arbitrary: ofKind('video') },
    { weight: 1, arbitrary: file(limits, 'document').map((one) => [one]) },
    {
      weight: 1,
      arbitrary: fc.tuple(...kinds.slice(0, 3).map((kind) => file(limits, kind))).map((all) => all.slice(0, 2)),
    },
    { weight: 1, arbitrary: fc.tuple(file(limits, 'image'), file(limits, 'video')) },
  )
}

/** @param isReply whether it is a part after the first one */
function part(limits: Limits, isReply = false): fc.Arbitrary<DraftPart> {
  const none = isReply && numberOf(limits, 'thread.mediaMax') === 0
  const media = files(limits)
  return (none ? sometimes(media, 10).map((some) => some ?? []) : media).chain((media) => {
    const ids: RuleId[] = media.length > 0 ? ['caption.max', 'text.max'] : ['text.max']
    if (isReply) ids.unshift('thread.textMax')
    const text = textNear(limits, ids)
    return fc.record({ text: fc.oneof({ weight: 9, arbitrary: text }, fc.constant('')), media: fc.constant(media) })
  })
}

/** Some platforms refuse a text that the account has just published. */
function hasNoRepetition({ firstComment = '', text, thread = [] }: Draft): boolean {
  const texts = [text, firstComment, ...thread.map((part) => part.text)].filter((one) => one !== '')
  return new Set(texts).size === texts.length
}

/** Generated posts around the limits of a platform. */
export function drafts(limits: Limits): fc.Arbitrary<Draft> {
  const takes = (id: RuleId) => (numberOf(limits, id) ?? 0) > 0
  const required = numberOf(limits, 'title.required') === 1
  const title = textNear(limits, ['title.max', 'title.maxWithImages'])
  const titles = required ? fc.option(title, { nil: undefined, freq: 10 }) : sometimes(title, 3)
  const hasThreads = (numberOf(limits, 'thread.max') ?? 1) > 1
  return fc
    .record({
      post: part(limits),
      title: takes('title.max') || takes('title.maxWithImages') ? titles : fc.constant(undefined),
      tags: takes('tags.max')
        ? sometimes(fc.array(fc.constantFrom('one', 'two words', 'drei', '四'), { maxLength: 5 }), 3)
        : fc.constant(undefined),
      firstComment: sometimes(textNear(limits, ['comment.max', 'text.max']), takes('comment.max') ? 2 : 20),
      thread: sometimes(fc.array(part(limits, true), { minLength: 1, maxLength: 2 }), hasThreads ? 2 : 20),
    })
    .map(({ firstComment, post, tags, thread, title: heading }) => ({
      ...post,
      ...(heading !== undefined && { title: heading }),
      ...(tags !== undefined && { tags }),
      ...(firstComment !== undefined && { firstComment }),
      ...(thread !== undefined && { thread }),
    }))
    .filter(hasNoRepetition)
}

import type { PartContent, PostMedia } from '../content.ts'
import { checkLength, has, numericLimit, type Check } from './check.ts'
import { listOf, type Limits } from './limits.ts'
import { breach, counted, general, missing, shown, sizes, type Problem } from './problem.ts'
import type { RuleId } from './rule.ts'

/** The kinds of media that rules tell apart. */
export type MediaKind = PostMedia['kind']

const NOUNS: Readonly<Record<MediaKind, string>> = {
  image: 'image',
  gif: 'animated image',
  video: 'video',
  document: 'document',
}
const KINDS: readonly MediaKind[] = ['image', 'gif', 'video', 'document']

/** Checks the files of one part. @param at the pointer of the part: empty, or `/thread/0` */
export function checkMedia(check: Check, { media }: PartContent, at: string): void {
  if (media.length === 0) return
  const { limits } = check
  const kinds = media.map((file) => kindFor(limits, file))
  const pointer = `${at}/media`
  if (at !== '' && isOverInThread(check, kinds.length, pointer)) return
  checkCounts(check, kinds, pointer)
  checkMix(check, kinds, pointer)
  for (const [index, file] of media.entries()) {
    const kind = kinds[index] ?? file.kind
    if (mostOf(limits, kind) !== 0) checkFile(check, kind, file, `${pointer}/${index}`)
    checkAltText(check, file, `${pointer}/${index}/altText`)
  }
}

/** Reports files that a part after the first one cannot have. */
function isOverInThread(check: Check, actual: number, pointer: string): boolean {
  const limit = numericLimit(check, 'thread.mediaMax')
  if (limit === undefined || actual <= limit.value) return false
  const allowed = limit.value === 0 ? 'takes none after the first part' : `allows ${shown(limit.value)}`
  const message = `This part of the thread has ${counted(actual, 'file')}; ${check.title} ${allowed}.`
  const fix = `Remove ${counted(actual - limit.value, 'file')}, or move them to the first part.`
  check.problems.push(breach(limit, { actual, unit: 'files', pointer, message, fix }))
  return true
}

/** Under which rules a file falls. Where a platform has no rules for animated images, those for images apply. */
export function kindFor(limits: Limits, { kind }: Pick<PostMedia, 'kind'>): MediaKind {
  return kind === 'gif' && !hasRulesFor(limits, 'gif') ? 'image' : kind
}

/** How many files of a kind a part may have; 0 when the platform does not take the kind; undefined without a limit. */
export function mostOf(limits: Limits, kind: MediaKind): number | undefined {
  const value = limits.byId.get(`${kind}.max`)?.value
  if (typeof value === 'number') return value
  return hasRulesFor(limits, kind) ? undefined : 0
}

function hasRulesFor({ byId }: Limits, kind: MediaKind): boolean {
  for (const id of byId.keys()) if (id.startsWith(`${kind}.`)) return true
  return false
}

function checkCounts(check: Check, kinds: readonly MediaKind[], pointer: string): void {
  const { limits, problems, title } = check
  let isOver = false
  for (const kind of KINDS) {
    const actual = kinds.filter((one) => one === kind).length
    const most = mostOf(limits, kind)
    if (actual === 0 || most === undefined || actual <= most) continue
    isOver = true
    const noun = NOUNS[kind]
    const limit = numericLimit(check, `${kind}.max`)
    const message =
      most === 0
        ? `${title} takes no ${noun}s.`
        : `The post has ${counted(actual, noun)}; ${title} allows ${shown(most)}.`
    const fix = most === 0 ? `Remove the ${noun}.` : `Remove ${counted(actual - most, noun)}.`
    const found = { actual, unit: `${noun}s`, pointer, message, fix }
    problems.push(limit === undefined ? missing(`${kind}.max`, found) : breach(limit, found))
  }
  const total = numericLimit(check, 'media.max')
  if (!isOver && total !== undefined && kinds.length > total.value) {
    const message = `The post has ${counted(kinds.length, 'file')}; ${title} allows ${shown(total.value)}.`
    const fix = `Remove ${counted(kinds.length - total.value, 'file')}.`
    problems.push(breach(total, { actual: kinds.length, unit: 'files', pointer, message, fix }))
  }
  const least = numericLimit(check, 'image.min')
  const images = kinds.filter((kind) => kind === 'image').length
  if (least !== undefined && images === kinds.length && images > 1 && images < least.value) {
    const message = `The post has ${counted(images, 'image')}; ${title} requires at least ${shown(least.value)}.`
    problems.push(breach(least, { actual: images, unit: 'images', pointer, message, fix: 'Add images.' }))
  }
}

function checkMix(check: Check, kinds: readonly MediaKind[], pointer: string): void {
  const { limits, problems, title } = check
  const ofGifs = numericLimit(check, 'gif.mixed')?.value
  const mixable = ofGifs === 1 ? kinds.map((kind) => (kind === 'gif' ? 'image' : kind)) : kinds
  const present = KINDS.filter((kind) => mixable.includes(kind))
  if (present.length < 2) return
  const isAlone = ofGifs === 0 && present.includes('gif')
  const id = present.includes('document') ? 'document.mixed' : isAlone ? 'gif.mixed' : 'media.mixed'
  const limit = numericLimit(check, id)
  if (limit?.value === 1 || present.some((kind) => mostOf(limits, kind) === 0)) return
  const nouns = present.map((kind) => `${NOUNS[kind]}s`)
  const message = `The post has ${nouns.join(' and ')}; ${title} does not take them together.`
  const found = { actual: nouns.join(', '), unit: 'kinds of files', pointer, message, fix: 'Keep files of one kind.' }
  problems.push(limit === undefined ? missing(id, found) : breach(limit, found))
}

interface Measure {
  readonly rule: string
  readonly unit: string
  readonly of: (file: PostMedia) => number | undefined
  /** Whether the limit is the least value. */
  readonly least?: true
  /**
   * The two parts of the message: the predicate after the name of the file, and the one after the name of the platform.
   */
  readonly say: (actual: number, limit: number) => readonly [string, string]
  readonly fix: string
}

const pixels = (of: Measure['of'], least: boolean, rule: string, word: string): Measure => ({
  rule,
  unit: 'pixels',
  of,
  ...(least && { least: true as const }),
  say: (actual, limit) => [`is ${shown(actual)} pixels ${word}`, `requires at least ${shown(limit)}`],
  fix: 'Use a larger file.',
})

const ratio = (least: boolean): Measure => ({
  rule: least ? 'minRatio' : 'maxRatio',
  unit: 'width divided by height',
  of: ({ height, width }) => (width === undefined || height === undefined ? undefined : width / height),
  ...(least && { least: true as const }),
  say: (actual, limit) => [
    `has a shape of ${three(actual)}:1`,
    `takes ${least ? 'no narrower ones than' : 'no wider ones than'} ${three(limit)}:1`,
  ],
  fix: 'Crop or pad it.',
})

const seconds = (least: boolean): Measure => ({
  rule: least ? 'minSeconds' : 'maxSeconds',
  unit: 'seconds',
  of: (file) => file.seconds,
  ...(least && { least: true as const }),
  say: (actual, limit) => [
    `is ${three(actual)} seconds long`,
    least ? `requires at least ${shown(limit)}` : `allows ${shown(limit)}`,
  ],
  fix: least ? 'Use a longer video.' : 'Cut the video.',
})

const fps = (least: boolean): Measure => ({
  rule: least ? 'minFps' : 'maxFps',
  unit: 'frames per second',
  of: (file) => file.fps,
  ...(least && { least: true as const }),
  say: (actual, limit) => [
    `has ${three(actual)} frames per second`,
    least ? `requires at least ${shown(limit)}` : `allows ${shown(limit)}`,
  ],
  fix: 'Convert it.',
})

const MEASURES: readonly Measure[] = [
  {
    rule: 'minBytes',
    unit: 'bytes',
    of: ({ bytes }) => bytes,
    least: true,
    say: (actual, limit) => {
      const [has, requires] = sizes(actual, limit)
      return [`has ${has}`, `requires at least ${requires}`]
    },
    fix: 'Use a larger file.',
  },
  {
    rule: 'maxBytes',
    unit: 'bytes',
    of: ({ bytes }) => bytes,
    say: (actual, limit) => {
      const [has, allows] = sizes(actual, limit)
      return [`has ${has}`, `allows ${allows}`]
    },
    fix: 'Compress it.',
  },
  {
    rule: 'maxPixels',
    unit: 'pixels',
    of: ({ height, width }) => (width === undefined || height === undefined ? undefined : width * height),
    say: (actual, limit) => [`has ${shown(actual)} pixels`, `allows ${shown(limit)}`],
    fix: 'Make it smaller.',
  },
  {
    rule: 'maxSides',
    unit: 'pixels',
    of: ({ height, width }) => (width === undefined || height === undefined ? undefined : width + height),
    say: (actual, limit) => [`has a width and height of ${shown(actual)} pixels together`, `allows ${shown(limit)}`],
    fix: 'Make it smaller.',
  },
  pixels(({ width }) => width, true, 'minWidth', 'wide'),
  pixels(({ height }) => height, true, 'minHeight', 'high'),
  ratio(true),
  ratio(false),
  seconds(true),
  seconds(false),
  fps(true),
  fps(false),
  {
    rule: 'maxPages',
    unit: 'pages',
    of: (file) => file.pages,
    say: (actual, limit) => [`has ${shown(actual)} pages`, `allows ${shown(limit)}`],
    fix: 'Remove pages.',
  },
]

function checkFile(check: Check, kind: MediaKind, file: PostMedia, pointer: string): void {
  const { problems, title } = check
  const name = `The ${NOUNS[kind]} “${file.name}”`
  const unknown: string[] = []
  checkListed(check, `${kind}.types` as RuleId, file.type, 'media types', pointer, `${name} is ${file.type}`)
  if (kind === 'video' && listOf(check.limits, 'video.codecs') !== undefined) {
    if (file.videoCodec === undefined) unknown.push('video codec')
    else checkListed(check, 'video.codecs', file.videoCodec, 'video codecs', pointer, `${name} is ${file.videoCodec}`)
  }
  for (const { fix, least, of, rule, say, unit } of MEASURES) {
    const limit = numericLimit(check, `${kind}.${rule}` as RuleId)
    if (limit === undefined) continue
    const actual = of(file)
    if (actual === undefined) unknown.push(unit)
    else if (least ? actual < limit.value : actual > limit.value) {
      const [found, allowed] = say(actual, limit.value)
      const message = `${name} ${found}; ${title} ${allowed}.`
      problems.push(breach(limit, { actual: rounded(actual), unit, pointer, message, fix }))
    }
  }
  if (unknown.length > 0) problems.push(unexamined(name, [...new Set(unknown)], pointer))
}

function unexamined(name: string, facts: readonly string[], pointer: string): Problem {
  return general('media.unexamined', 'warning', {
    pointer,
    actual: facts.join(', '),
    message: `${name} has not been examined yet (${facts.join(', ')}), so not all limits could be checked.`,
    fix: 'Wait until the file is ready. It is checked again before it is published.',
  })
}

function checkListed(check: Check, id: RuleId, actual: string, unit: string, pointer: string, what: string): void {
  const allowed = listOf(check.limits, id)
  const limit = check.limits.byId.get(id)
  if (allowed === undefined || limit === undefined || allowed.includes(actual)) return
  check.problems.push(
    breach(limit, {
      actual,
      unit,
      pointer,
      message: `${what}; ${check.title} takes ${allowed.join(', ')}.`,
      fix: 'Convert it.',
    }),
  )
}

function checkAltText(check: Check, { altText = '' }: PostMedia, pointer: string): void {
  if (altText === '') return
  if (has(check, 'alt.max')) {
    checkLength(check, 'alt.max', { text: altText, pointer, what: 'The alt text', fix: 'Shorten the alt text.' })
    return
  }
  check.problems.push(
    general('field.unused', 'warning', {
      pointer,
      message: `${check.title} has no alt texts, so it is left out.`,
      fix: 'Nothing to do. Other platforms show it.',
    }),
  )
}

function three(value: number): string {
  return String(rounded(value))
}

function rounded(value: number): number {
  return Math.round(value * 1_000) / 1_000
}

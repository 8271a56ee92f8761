import { textWithLink, type PartContent, type PostContent, type PostMedia } from '../content.ts'
import type { RuledPlatform } from './check.ts'
import { kindFor, mostOf } from './check-media.ts'
import { linkInText, textRule } from './check-text.ts'
import { countText } from './counting.ts'
import { check } from './engine.ts'
import { numberOf, type Limits } from './limits.ts'
import type { Problem } from './problem.ts'
import { renditionFor, type RenditionRequest } from './renditions.ts'
import type { RuleId } from './rule.ts'
import { splitText, textOf } from './split.ts'

/** A change that removes a problem, as an offer. */
export type Fix =
  /** Replaces a file by a rendition of it. */
  | ({ readonly kind: 'rendition'; readonly label: string; readonly pointer: string; readonly mediaId: string } & {
      readonly settings: RenditionRequest
    })
  /** Replaces a part of the thread by several. The first one keeps the files. */
  | { readonly kind: 'split'; readonly label: string; readonly pointer: string; readonly parts: readonly string[] }
  /** Replaces a text. */
  | { readonly kind: 'text'; readonly label: string; readonly pointer: string; readonly text: string }

export interface FixOptions {
  /** Adds ` 1/3` to the parts of a thread. */
  readonly numbered?: boolean
}

const SPLITTABLE: readonly Problem['rule'][] = [
  'text.max',
  'text.maxBytes',
  'caption.max',
  'caption.maxWithImages',
  'thread.textMax',
]

/** The changes that remove a problem without the user: renditions, splitting into a thread, trimming alt texts. */
export function fixesOf(
  platform: RuledPlatform,
  limits: Limits,
  content: PostContent,
  problem: Problem,
  options: FixOptions = {},
): Fix[] {
  const { pointer, rule } = problem
  if (SPLITTABLE.includes(rule)) {
    return splitFix(platform, limits, { content, pointer, ...options })
  }
  if (rule === 'alt.max') return trimFix(limits, content, pointer)
  const [, prefix = '', index] = /^((?:\/thread\/\d+)?)\/media(?:\/(\d+))?$/.exec(pointer) ?? []
  const part = partAt(content, prefix)
  if (part === undefined) return []
  const files = index === undefined ? wrongKind(limits, part, problem) : [Number(index)]
  return files.flatMap((at) => {
    const file = part.media[at]
    const settings = file === undefined ? undefined : renditionFor(limits, file)
    if (file === undefined || settings === undefined) return []
    const path = `${prefix}/media/${at}`
    const fixed = check(platform, limits, replaced(content, prefix, at, madeOf(file, settings)))
    if (fixed.some((one) => one.rule === rule && one.pointer === pointer && one.severity === 'error')) return []
    return [{ kind: 'rendition' as const, label: labelOf(file, settings), pointer: path, mediaId: file.id, settings }]
  })
}

/** The content after a fix. A rendition is a new file, which the caller adds. */
export function applyFix(content: PostContent, fix: Fix, rendition?: PostMedia): PostContent {
  if (fix.kind === 'text') return withAltText(content, fix)
  if (fix.kind === 'rendition') {
    const [, prefix = '', index = ''] = /^(.*)\/media\/(\d+)$/.exec(fix.pointer) ?? []
    return rendition === undefined ? content : replaced(content, prefix, Number(index), rendition)
  }
  const [first = '', ...rest] = fix.parts
  const added = rest.map((text) => ({ text, media: [] }))
  const thread = content.thread ?? []
  const at = /^\/thread\/(\d+)/.exec(fix.pointer)?.[1]
  if (at === undefined) return { ...content, text: first, thread: [...added, ...thread] }
  const index = Number(at)
  const kept = { text: first, media: thread[index]?.media ?? [] }
  return { ...content, thread: [...thread.slice(0, index), kept, ...added, ...thread.slice(index + 1)] }
}

/** UTF-16 units of a text that is split. It takes about a millisecond for each thousand. */
const MAX_SPLIT = 30_000

interface SplitRequest extends FixOptions {
  readonly content: PostContent
  readonly pointer: string
}

function splitFix(
  platform: RuledPlatform,
  limits: Limits,
  { content, numbered = false, pointer }: SplitRequest,
): Fix[] {
  const prefix = pointer.slice(0, -'/text'.length)
  const part = partAt(content, prefix)
  const mostParts = (numberOf(limits, 'thread.max') ?? 1) - (content.thread?.length ?? 0)
  if (part === undefined || mostParts < 2 || part.text.length > MAX_SPLIT) return []
  const link = prefix === '' ? linkInText(limits, content) : ''
  const fits = (text: string, index: number) =>
    index === 0
      ? fitsLimits(limits, textWithLink({ text, link }), part.media, prefix !== '')
      : fitsLimits(limits, text, [], true)
  const plain = platform.plainText === undefined ? part.text : platform.plainText(part.text, content.options)
  const cuts = plain === undefined ? undefined : splitText(plain, { fits, mostParts, numbered })
  if (plain === undefined || cuts === undefined || cuts.length < 2) return []
  const parts =
    plain === part.text ? cuts.map((one) => textOf(plain, one)) : platform.partsOf?.(part.text, content.options, cuts)
  if (parts === undefined) return []
  return [{ kind: 'split', label: `Split the text into ${parts.length} parts of a thread`, pointer, parts }]
}

function fitsLimits(limits: Limits, text: string, media: PartContent['media'], isReply: boolean): boolean {
  const ids: RuleId[] = [textRule(limits, media, isReply), 'text.maxBytes']
  return ids.every((id) => {
    const most = numberOf(limits, id)
    const counting = id === 'text.maxBytes' ? 'bytes' : (limits.byId.get(id)?.counting ?? 'characters')
    return most === undefined || countText(counting, text) <= most
  })
}

function trimFix(limits: Limits, content: PostContent, pointer: string): Fix[] {
  const [, prefix = '', index = ''] = /^(.*)\/media\/(\d+)\/altText$/.exec(pointer) ?? []
  const { altText = '' } = partAt(content, prefix)?.media[Number(index)] ?? {}
  const most = numberOf(limits, 'alt.max') ?? 0
  const counting = limits.byId.get('alt.max')?.counting ?? 'characters'
  const fits = (text: string) => countText(counting, `${text}…`) <= most
  const [first] = splitText(altText, { fits, mostParts: altText.length, firstOnly: true }) ?? []
  if (first === undefined) return []
  return [{ kind: 'text', label: 'Shorten the alt text', pointer, text: `${textOf(altText, first)}…` }]
}

/** The files of a kind that the platform does not take, or not together with others. */
function wrongKind(limits: Limits, { media }: PartContent, { rule }: Problem): number[] {
  const isMix = rule === 'media.mixed' || rule === 'gif.mixed'
  return [...media.entries()].flatMap(([index, file]) => {
    if (file.kind !== 'gif') return []
    const kind = kindFor(limits, file)
    return isMix || (rule === `${kind}.max` && mostOf(limits, kind) === 0) ? [index] : []
  })
}

function partAt(content: PostContent, prefix: string): PartContent | undefined {
  return prefix === '' ? content : content.thread?.[Number(prefix.split('/')[2])]
}

function replaced(content: PostContent, prefix: string, index: number, file: PostMedia): PostContent {
  const swap = <P extends PartContent>(part: P): P => ({ ...part, media: part.media.with(index, file) })
  if (prefix === '') return swap(content)
  const at = Number(prefix.split('/')[2])
  const { thread = [] } = content
  return { ...content, thread: thread.map((part, one) => (one === at ? swap(part) : part)) }
}

function withAltText(content: PostContent, { pointer, text }: { pointer: string; text: string }): PostContent {
  const [, prefix = '', index = ''] = /^(.*)\/media\/(\d+)\/altText$/.exec(pointer) ?? []
  const file = partAt(content, prefix)?.media[Number(index)]
  return file === undefined ? content : replaced(content, prefix, Number(index), { ...file, altText: text })
}

const TYPES = { h264: 'video/mp4', jpeg: 'image/jpeg', png: 'image/png', webp: 'image/webp' } as const

/** The facts of the rendition that its settings determine. */
function madeOf(file: PostMedia, { codec, crop, fps, height, maxBytes, trim, width }: RenditionRequest): PostMedia {
  const isVideo = codec === 'h264'
  const [across = 0, down = 1] = crop?.split(':').map(Number) ?? []
  const framed = width !== undefined && height !== undefined ? { width, height } : file
  const cropped =
    crop === undefined || framed.width === undefined || framed.height === undefined
      ? framed
      : inShape(framed.width, framed.height, across / down)
  return {
    ...file,
    kind: isVideo ? 'video' : 'image',
    type: TYPES[codec],
    bytes: Math.min(file.bytes, maxBytes ?? file.bytes),
    ...(cropped.width !== undefined && { width: cropped.width }),
    ...(cropped.height !== undefined && { height: cropped.height }),
    ...(isVideo && { videoCodec: 'h264' }),
    ...(trim !== undefined && { seconds: Math.min(file.seconds ?? trim.to, trim.to) }),
    ...(fps !== undefined && { fps }),
  }
}

function inShape(width: number, height: number, ratio: number): { width: number; height: number } {
  return width / height > ratio ? { width: height * ratio, height } : { width, height: width / ratio }
}

function labelOf({ kind }: PostMedia, { codec, crop, fps, maxBytes, trim, width }: RenditionRequest): string {
  if (kind === 'gif' && codec === 'h264') return 'Convert the GIF to an MP4 video'
  const steps = [
    ...(crop === undefined ? [] : [`crop it to ${crop}`]),
    ...(trim === undefined ? [] : [`keep the first ${trim.to} seconds`]),
    ...(width === undefined ? [] : ['make it smaller']),
    ...(fps === undefined ? [] : [`use ${fps} frames per second`]),
    ...(maxBytes === undefined ? [] : ['compress it']),
  ]
  const format = codec === 'h264' ? 'MP4 video (H.264)' : codec.toUpperCase()
  return `Convert the file to ${format}${steps.length === 0 ? '' : `: ${steps.join(', ')}`}`
}

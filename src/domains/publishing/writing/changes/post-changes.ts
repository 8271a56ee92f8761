import type {
  ContentChanges,
  ListChange,
  MediaChange,
  PostChanges,
  PostPart,
  TargetChange,
  ThreadChange,
  TimeChange,
} from './schemas.ts'
import {
  canonicalJson,
  isEmpty,
  type ContentSnapshot,
  type MediaSnapshot,
  type OverrideSnapshot,
  type PostSnapshot,
  type TargetSnapshot,
} from './snapshot.ts'
import { diffWords, DiffBudget } from './words.ts'

const TEXTS = ['content', 'title', 'link', 'firstComment'] as const
const CONTENT_FIELDS = [...TEXTS, 'media', 'thread', 'tags'] as const

/** The difference between two versions of a post. Its texts share one budget, whatever their number. */
export function changesOf(before: PostSnapshot, after: PostSnapshot, budget = new DiffBudget()): PostChanges {
  const content = contentChanges(before, after, budget)
  const labels = listChange(before.labels, after.labels)
  const scheduledFor = timeChange(before, after)
  const targets = targetChanges(before.targets ?? [], after.targets ?? [], budget)
  const late = { before: before.lateMinutes ?? null, after: after.lateMinutes ?? null }
  const changes: Omit<PostChanges, 'parts'> = {
    ...content,
    ...(labels && { labels }),
    ...(scheduledFor && { scheduledFor }),
    ...(late.before !== late.after && { lateMinutes: late }),
    ...(targets && { targets }),
  }
  return { parts: partsOf(changes), ...changes }
}

function partsOf(changes: Omit<PostChanges, 'parts'>): PostPart[] {
  const { targets, thread } = changes
  const inThread = (field: 'content' | 'media') => thread?.some((part) => part[field] !== undefined) ?? false
  const hasText = [...TEXTS, 'tags' as const].some((field) => changes[field] !== undefined)
  const hasTime = changes.scheduledFor ?? targets?.changed.find(({ scheduledFor }) => scheduledFor !== undefined)
  const parts: Record<PostPart, boolean> = {
    text: hasText || inThread('content'),
    media: changes.media !== undefined || inThread('media'),
    targets: targets !== undefined,
    times: hasTime !== undefined,
    labels: changes.labels !== undefined,
    settings: changes.lateMinutes !== undefined,
  }
  return (Object.keys(parts) as PostPart[]).filter((part) => parts[part])
}

function contentChanges(before: ContentSnapshot, after: ContentSnapshot, budget: DiffBudget): ContentChanges {
  const changes: ContentChanges = {}
  for (const field of TEXTS) {
    const old = before[field] ?? ''
    const now = after[field] ?? ''
    if (old !== now) changes[field] = diffWords(old, now, budget)
  }
  const media = mediaChange(before.media ?? [], after.media ?? [])
  if (media !== undefined) changes.media = media
  const thread = threadChange(before.thread ?? [], after.thread ?? [], budget)
  if (thread.length > 0) changes.thread = thread
  const tags = listChange(before.tags, after.tags)
  if (tags !== undefined) changes.tags = tags
  return changes
}

function threadChange(
  before: NonNullable<ContentSnapshot['thread']>,
  after: NonNullable<ContentSnapshot['thread']>,
  budget: DiffBudget,
): ThreadChange {
  const changes: ThreadChange = []
  for (let index = 0; index < Math.max(before.length, after.length); index += 1) {
    const old = before[index]
    const now = after[index]
    const { content, media } = contentChanges(old ?? {}, now ?? {}, budget)
    const kind = old === undefined ? 'added' : now === undefined ? 'removed' : 'changed'
    if (kind === 'changed' && content === undefined && media === undefined) continue
    changes.push({ index, kind, ...(content && { content }), ...(media && { media }) })
  }
  return changes
}

/** A file of a list, with its place. A file that is in a list twice has two different keys. */
interface Placed {
  readonly key: string
  readonly media: MediaSnapshot
  readonly position: number
}

function mediaChange(before: readonly MediaSnapshot[], after: readonly MediaSnapshot[]): MediaChange | undefined {
  const old = placed(before)
  const now = placed(after)
  const oldKeys = new Map(old.map((one) => [one.key, one.media]))
  const newKeys = new Set(now.map(({ key }) => key))
  const added = now.filter(({ key }) => !oldKeys.has(key)).map(shown)
  const removed = old.filter(({ key }) => !newKeys.has(key)).map(shown)
  const isReordered = isOtherOrder(
    old.map(({ key }) => key),
    now.map(({ key }) => key),
  )
  const altTexts = now.flatMap(({ key, media }) => {
    const was = oldKeys.get(key)
    const change = { assetId: media.assetId, before: was?.altText ?? null, after: media.altText ?? null }
    return was === undefined || change.before === change.after ? [] : [change]
  })
  if (added.length + removed.length + altTexts.length === 0 && !isReordered) return undefined
  return { added, removed, isReordered, altTexts }
}

function placed(list: readonly MediaSnapshot[]): Placed[] {
  const seen = new Map<string, number>()
  return list.map((media, position) => {
    const name = `${media.assetId} ${media.renditionId ?? ''}`
    const count = seen.get(name) ?? 0
    seen.set(name, count + 1)
    return { key: `${name} ${count}`, media, position }
  })
}

function shown({ media, position }: Placed): MediaChange['added'][number] {
  return { assetId: media.assetId, renditionId: media.renditionId ?? null, position }
}

/** Whether the values that two lists share are in another order. */
function isOtherOrder(before: readonly string[], after: readonly string[]): boolean {
  const inBefore = new Set(before)
  const inAfter = new Set(after)
  const kept = after.filter((key) => inBefore.has(key))
  return before.filter((key) => inAfter.has(key)).some((key, index) => key !== kept[index])
}

function listChange(
  before: readonly string[] | null | undefined,
  after: readonly string[] | null | undefined,
): ListChange | undefined {
  const old = [...new Set(before)]
  const now = [...new Set(after)]
  const added = now.filter((one) => !old.includes(one))
  const removed = old.filter((one) => !now.includes(one))
  const isReordered = isOtherOrder(old, now)
  return added.length + removed.length === 0 && !isReordered ? undefined : { added, removed, isReordered }
}

type Times = Pick<PostSnapshot, 'scheduledFor' | 'localTime' | 'timezone'>

function timeChange(before: Times, after: Times): TimeChange | undefined {
  const isSame =
    isAlike(before.scheduledFor, after.scheduledFor) &&
    isAlike(before.localTime, after.localTime) &&
    isAlike(before.timezone, after.timezone)
  if (isSame) return undefined
  return {
    before: before.scheduledFor ?? null,
    after: after.scheduledFor ?? null,
    localTimeBefore: before.localTime ?? null,
    localTimeAfter: after.localTime ?? null,
    timezoneBefore: before.timezone ?? null,
    timezoneAfter: after.timezone ?? null,
  }
}

function isAlike(before: unknown, after: unknown): boolean {
  return (isEmpty(before) && isEmpty(after)) || canonicalJson(before) === canonicalJson(after)
}

function targetChanges(
  before: readonly TargetSnapshot[],
  after: readonly TargetSnapshot[],
  budget: DiffBudget,
): PostChanges['targets'] | undefined {
  const old = new Map(before.map((target) => [target.accountId, target]))
  const now = new Map(after.map((target) => [target.accountId, target]))
  const added = [...now.keys()].filter((id) => !old.has(id))
  const removed = [...old.keys()].filter((id) => !now.has(id))
  const changed = [...now.values()].flatMap(({ accountId, override }) => {
    const was = old.get(accountId)
    const change = was && overrideChange(accountId, was.override ?? {}, override ?? {}, budget)
    return change === undefined ? [] : [change]
  })
  return added.length + removed.length + changed.length === 0 ? undefined : { added, removed, changed }
}

function overrideChange(
  accountId: string,
  before: OverrideSnapshot,
  after: OverrideSnapshot,
  budget: DiffBudget,
): TargetChange | undefined {
  const replaced = CONTENT_FIELDS.filter((field) => before[field] === undefined && after[field] !== undefined)
  const restored = CONTENT_FIELDS.filter((field) => before[field] !== undefined && after[field] === undefined)
  const content = contentChanges(before, after, budget)
  const scheduledFor = timeChange(before, after)
  const options = optionChanges(before.options ?? {}, after.options ?? {})
  const fields = {
    ...content,
    ...(scheduledFor && { scheduledFor }),
    ...(options.length > 0 && { options }),
  }
  if (Object.keys(fields).length + replaced.length + restored.length === 0) return undefined
  return { accountId, ...fields, replaced, restored }
}

function optionChanges(before: Readonly<Record<string, unknown>>, after: Readonly<Record<string, unknown>>) {
  const names = [...new Set([...Object.keys(before), ...Object.keys(after)])].toSorted()
  return names
    .filter((option) => canonicalJson(before[option]) !== canonicalJson(after[option]))
    .map((option) => ({
      option,
      ...(before[option] !== undefined && { before: before[option] }),
      ...(after[option] !== undefined && { after: after[option] }),
    }))
}

import { Slices } from '../../../../core/slices.ts'
import { exportSheet } from '../csv/export.ts'
import type { SheetPost } from '../csv/sheet-post.ts'
import { writeTime } from '../csv/times.ts'
import type {
  PostFilter,
  PostReader,
  MediaRef,
  PlatformPostData,
  PostBody,
  PostData,
  TargetOverride,
} from '../../posts/index.ts'

/** Posts are read in pages of this size. */
const PAGE = 200
/** The maximum number of posts in an export. */
export const MAX_EXPORTED = 10_000

/** Writes posts as files that the import reads as the same posts. */
export class PostExporter {
  readonly #reader: PostReader

  constructor(reader: PostReader) {
    this.#reader = reader
  }

  async run(filter: PostFilter, format: 'csv' | 'json'): Promise<Buffer> {
    const found: SheetPost[] = []
    const slices = new Slices()
    let after: { createdAt: string; id: string } | undefined
    while (found.length < MAX_EXPORTED) {
      const { items } = await this.#reader.list(filter, { after, limit: PAGE })
      let last: PostData | undefined
      for (const json of items) {
        last = JSON.parse(json) as PostData
        found.push(rowOf(last))
        await slices.pause()
      }
      if (last === undefined || items.length < PAGE) break
      after = { createdAt: last.createdAt, id: last._id }
    }
    return format === 'csv' ? exportSheet(found, slices) : exportJson(found, slices)
  }
}

/** `{"posts":[…]}`, written in slices. */
async function exportJson(found: readonly SheetPost[], slices: Slices): Promise<Buffer> {
  const pieces: Buffer[] = []
  for (const post of found) {
    pieces.push(Buffer.from(`${pieces.length === 0 ? '' : ','}${JSON.stringify(post)}`))
    await slices.pause()
  }
  return Buffer.concat([Buffer.from('{"posts":['), ...pieces, Buffer.from(']}')])
}

/** A post as a row. */
function rowOf(post: PostData): SheetPost {
  const { content, firstComment, labels, lateMinutes, link, media, tags, thread, title } = post
  return {
    content,
    ...(title !== null && { title }),
    ...(link !== null && { link }),
    ...(media.length > 0 && { media: mediaOf(media) }),
    ...(thread.length > 0 && { thread: threadOf(thread) }),
    firstComment,
    ...(tags.length > 0 && { tags }),
    ...(labels.length > 0 && { labels }),
    ...timeOf(post),
    lateMinutes,
    // A draft may break rules of its platforms.
    ...(post.scheduledFor === null && { draft: true }),
    ...(post.targets.length > 0 && { targets: post.targets.map((target) => targetOf(target, post)) }),
  }
}

function timeOf({ localTime, scheduledFor, timezone }: Pick<PostData, 'localTime' | 'scheduledFor' | 'timezone'>) {
  if (localTime === null || scheduledFor === null || timezone === null) return {}
  const time = { wallClock: localTime, timezone, instant: new Date(scheduledFor) }
  return { scheduledFor: writeTime(time), timezone }
}

function targetOf(target: PlatformPostData, post: PostData) {
  const { accountId } = target
  const hasOwnTime = target.scheduledFor !== post.scheduledFor || target.timezone !== post.timezone
  const { media, thread, ...rest } = (target.override ?? {}) as TargetOverride
  const override = {
    ...rest,
    ...(media !== undefined && { media: mediaOf(media) }),
    ...(thread !== undefined && { thread: threadOf(thread) }),
    ...(hasOwnTime && timeOf(target)),
  }
  return Object.keys(override).length === 0 ? { accountId } : { accountId, override }
}

function mediaOf(media: readonly MediaRef[]) {
  return media.map(({ altText, assetId, renditionId }) => {
    if (altText == null && renditionId == null) return assetId
    return { assetId, ...(renditionId != null && { renditionId }), ...(altText != null && { altText }) }
  })
}

function threadOf(thread: PostBody['thread']) {
  return thread.map(({ content, media }) => ({ content, ...(media.length > 0 && { media: mediaOf(media) }) }))
}

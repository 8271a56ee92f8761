import type { Sql } from '../../../../core/sql.ts'
import { findPlatform } from '../../../../platforms/registry.ts'
import { postFiles, refKey, type MediaRef, type PostFile } from '../../../media/assets/index.ts'
import { postingAccounts } from '../../../social/accounts/index.ts'
import { changesBetween, loadPost, snapshotOf, submittedPosts, versionOf, type PostData } from '../../posts/index.ts'
import { approvalFlows, type FlowRow, type GuestRow } from '../tables.ts'
import type { ShownPost, ShownTarget } from './page.ts'

/** How many posts a page shows. */
const MOST_SHOWN = 50

const STATES: Readonly<Record<string, string>> = {
  in_review: 'Waits for approval',
  ready: 'Approved, waits to be released',
  scheduled: 'Approved and scheduled',
  published: 'Published',
  draft: 'Returned to its author',
}

const WORDS = { approve: 'approved', reject: 'rejected', request_changes: 'asked for changes' } as const

/** The address of a file for a page (`PostFiles` of assets). */
export interface FileLinks {
  publicUrl(ref: MediaRef): string
}

/** The posts of a guest, as they will look at each account. */
export class GuestPosts {
  readonly #sql: Sql
  readonly #files: FileLinks

  constructor(sql: Sql, files: FileLinks) {
    this.#sql = sql
    this.#files = files
  }

  async of(guest: GuestRow): Promise<ShownPost[]> {
    const { accountId, label, postId, workspaceId } = guest
    const flow = await approvalFlows.first(this.#sql, { workspaceId })
    const posts = await submittedPosts(this.#sql, {
      workspaceId,
      ...(postId !== null && { postId }),
      ...(label !== null && { label }),
      ...(accountId !== null && { accountId }),
      limit: MOST_SHOWN,
    })
    return Promise.all(posts.map((post) => this.#shown(post, guest, flow)))
  }

  async #shown(post: PostData, guest: GuestRow, flow: FlowRow | undefined): Promise<ShownPost> {
    const { approval } = post
    const accounts = await postingAccounts(
      this.#sql,
      post.workspaceId,
      post.targets.map(({ accountId }) => accountId),
    )
    const contents = post.targets.map((target) => contentOf(post, target))
    const files = await postFiles(
      this.#sql,
      post.workspaceId,
      contents.flatMap(({ media }) => media),
    )
    const targets = post.targets.map((target, index): ShownTarget => {
      const account = accounts.get(target.accountId)
      const name = account?.handle ?? account?.name ?? ''
      const platform = findPlatform(target.platform)?.title ?? target.platform
      const { media = [], texts = [] } = contents[index] ?? {}
      return { title: `${platform} · ${name}`, texts, media: media.flatMap((ref) => this.#file(ref, files)) }
    })
    const decisions = approval?.decisions ?? []
    // The guest's own decision comes first, because other stages may have decided on the change since.
    const last = decisions.findLast(({ guestId }) => guestId === guest.id) ?? decisions.at(-1)
    return {
      id: post._id,
      when: timeIn(guest.timezone, post.scheduledFor),
      state: STATES[post.status] ?? post.status.replaceAll('_', ' '),
      targets,
      history: decisions.map(({ comment, decidedAt, decision, guestName, kind, stageName }) => {
        const who = guestName ?? (kind === 'deadline' ? 'The deadline' : 'The team')
        const said = comment === null ? '' : `: ${comment}`
        return `${timeIn(guest.timezone, decidedAt)}, ${stageName}: ${who} ${WORDS[decision]}${said}`
      }),
      changes: last === undefined ? [] : await this.#changes(post, last.version),
      contentHash: canDecide(post, guest, flow) ? (approval?.contentHash ?? null) : null,
    }
  }

  async #changes(post: PostData, version: number): Promise<ShownPost['changes']> {
    const seen = version === post.version ? undefined : await versionOf(this.#sql, post._id, version)
    if (seen === undefined) return []
    return changesBetween(seen, snapshotOf(await loadPost(this.#sql, post._id))).content ?? []
  }

  #file(ref: MediaRef & { altText?: string | null }, files: ReadonlyMap<string, PostFile>): ShownTarget['media'] {
    const file = files.get(refKey(ref))
    if (file === undefined) return []
    const alt = ref.altText ?? file.media.altText ?? file.media.name ?? ''
    return [{ url: pathOf(this.#files.publicUrl(ref)), kind: file.media.kind, alt }]
  }
}

/** Signed addresses are used as paths, so that a page works under every name of this server. */
function pathOf(url: string): string {
  const { pathname, search } = new URL(url)
  return pathname + search
}

function contentOf(post: PostData, { override }: PostData['targets'][number]) {
  const { content, firstComment, link, media, thread, title } = { ...post, ...override }
  const parts = [title, content, link, ...thread.map((part) => part.content), firstComment]
  return {
    texts: parts.filter((text): text is string => text != null && text !== ''),
    media: [...media, ...thread.flatMap((part) => part.media)],
  }
}

/** Whether the open stage waits for this guest. */
function canDecide({ approval }: PostData, { id }: GuestRow, flow: FlowRow | undefined): boolean {
  if (approval?.status !== 'open' || approval.stage === null) return false
  const stage = flow?.stages[approval.stage - 1]
  const isDone = approval.decisions.some((one) => one.isCurrent && one.stage === approval.stage && one.guestId === id)
  return stage?.approvers.guests === true && !isDone
}

function timeIn(timeZone: string, at: string | null): string {
  if (at === null) return 'Without a time'
  const format = new Intl.DateTimeFormat('en-GB', { timeZone, dateStyle: 'full', timeStyle: 'short' })
  return `${format.format(new Date(at))} (${timeZone})`
}

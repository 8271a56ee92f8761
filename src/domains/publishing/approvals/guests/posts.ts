import type { Sql } from '../../../../core/sql.ts'
import type { Texts } from '../../../../language/texts.ts'
import { findPlatform } from '../../../../platforms/registry.ts'
import { postFiles, refKey, type MediaRef, type PostFile } from '../../../media/assets/index.ts'
import { postingAccounts } from '../../../social/accounts/index.ts'
import { changesBetween, guestComments, submittedPosts, versionOf, type SubmittedStatus } from '../../writing/index.ts'
import { findActors, loadPost, postName, snapshotOf, type PostData, type PostDecisionData } from '../../posts/index.ts'
import { approvalFlows, type FlowRow, type GuestRow } from '../tables.ts'
import { isWaiting, MAX_WAITING, NAME_LENGTH, type ShownPost, type ShownTarget, type WaitingPost } from './page.ts'

/** How many posts that do not wait for the guest a page shows, of each status. */
const MAX_OTHERS = 30

const LATER: readonly SubmittedStatus[] = ['in_review', 'ready', 'scheduled', 'publishing']

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

  /** The posts that wait for the guest, those that come next, and those that were published last. */
  async of(guest: GuestRow, texts: Texts): Promise<ShownPost[]> {
    const flow = await approvalFlows.first(this.#sql, { workspaceId: guest.workspaceId })
    const filter = filterOf(guest)
    const waiting = await this.#waiting(guest, flow)
    const others = await Promise.all(
      LATER.map((status) => submittedPosts(this.#sql, status, { ...filter, limit: MAX_OTHERS })),
    )
    const published = await submittedPosts(this.#sql, 'published', { ...filter, limit: MAX_OTHERS })
    const later = others
      .flat()
      .filter((post) => !canDecide(post, guest, flow))
      // Those without a time come last.
      .toSorted((a, b) => timeOf(a) - timeOf(b))
    return this.#shown([...waiting, ...later, ...published], guest, { flow, texts })
  }

  /** Only the posts that wait for the guest. */
  async waiting(guest: GuestRow, texts: Texts): Promise<WaitingPost[]> {
    const flow = await approvalFlows.first(this.#sql, { workspaceId: guest.workspaceId })
    const shown = await this.#shown(await this.#waiting(guest, flow), guest, { flow, texts })
    return shown.filter(isWaiting)
  }

  /** A post, if the link shows it now. */
  async one(guest: GuestRow, postId: string, texts: Texts): Promise<ShownPost | undefined> {
    if (guest.postId !== null && guest.postId !== postId) return undefined
    const flow = await approvalFlows.first(this.#sql, { workspaceId: guest.workspaceId })
    for (const status of [...LATER, 'published'] as const) {
      const found = await submittedPosts(this.#sql, status, { ...filterOf(guest), postId, limit: 1 })
      if (found.length > 0) return (await this.#shown(found, guest, { flow, texts }))[0]
    }
    return undefined
  }

  async #waiting(guest: GuestRow, flow: FlowRow | undefined): Promise<PostData[]> {
    const stages = (flow?.stages ?? []).flatMap(({ approvers }, index) => (approvers.guests ? [index + 1] : []))
    if (stages.length === 0) return []
    // Posts on which the guest has decided can be among them, while the stage waits for others.
    const limit = MAX_WAITING * 2
    const posts = await submittedPosts(this.#sql, 'in_review', { ...filterOf(guest), stages, limit })
    return posts.filter((post) => canDecide(post, guest, flow)).slice(0, MAX_WAITING)
  }

  async #shown(
    posts: readonly PostData[],
    guest: GuestRow,
    { flow, texts }: { readonly flow: FlowRow | undefined; readonly texts: Texts },
  ): Promise<ShownPost[]> {
    const { workspaceId } = guest
    const contents = posts.map((post) => post.targets.map((target) => contentOf(post, target)))
    const accountIds = new Set(posts.flatMap(({ targets }) => targets.map(({ accountId }) => accountId)))
    const accounts = await postingAccounts(this.#sql, workspaceId, [...accountIds])
    const refs = contents.flat().flatMap(({ media }) => media)
    const files = await postFiles(this.#sql, workspaceId, refs)
    const comments = await guestComments(
      this.#sql,
      workspaceId,
      posts.map(({ _id }) => _id),
    )
    const authors = await findActors(
      this.#sql,
      [...comments.values()].flat().map(({ authorId }) => authorId),
    )
    const time = timesIn(guest.timezone, texts)
    return Promise.all(
      posts.map(async (post, at): Promise<ShownPost> => {
        const { approval } = post
        const decisions = approval?.decisions ?? []
        // The guest's own decision comes first, because other stages may have decided on the change since.
        const last = decisions.findLast(({ guestId }) => guestId === guest.id) ?? decisions.at(-1)
        const isOpen = canDecide(post, guest, flow)
        const own = ownDecision(post, guest)
        return {
          id: post._id,
          name: nameOf(post) || texts.say('guestPage.noText'),
          when: time(post.scheduledFor),
          state: texts.find(`guestPage.state.${isOpen ? 'yours' : post.status}`),
          isPublished: post.status === 'published',
          targets: post.targets.map((target, index): ShownTarget => {
            const account = accounts.get(target.accountId)
            const name = account?.handle ?? account?.name ?? ''
            const platform = findPlatform(target.platform)?.title ?? target.platform
            const { media = [], texts: own = [] } = contents[at]?.[index] ?? {}
            return { title: `${platform} · ${name}`, texts: own, media: media.flatMap((ref) => this.#file(ref, files)) }
          }),
          comments: (comments.get(post._id) ?? []).map(
            ({ authorId, body, createdAt }) => `${time(createdAt)}, ${authors.get(authorId)?.name ?? '–'}: ${body}`,
          ),
          history: decisions.map((one) => lineOf(one, time, texts)),
          changes: last === undefined ? [] : await this.#changes(post, last.version),
          contentHash: isOpen ? (approval?.contentHash ?? null) : null,
          decided: own?.decision ?? null,
          decidedHash: own?.contentHash ?? null,
        }
      }),
    )
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
function canDecide(post: PostData, guest: GuestRow, flow: FlowRow | undefined): boolean {
  const { approval } = post
  if (approval?.status !== 'open' || approval.stage === null) return false
  const stage = flow?.stages[approval.stage - 1]
  const isDone = approval.decisions.some(
    (one) => one.isCurrent && one.stage === approval.stage && one.guestId === guest.id,
  )
  return stage?.approvers.guests === true && !isDone
}

/** The guest's last decision that still counts. */
function ownDecision({ approval }: PostData, { id }: GuestRow): PostDecisionData | undefined {
  return approval?.decisions.findLast((one) => one.isCurrent && one.guestId === id)
}

function filterOf({ accountId, label, postId, workspaceId }: GuestRow) {
  return {
    workspaceId,
    ...(postId !== null && { postId }),
    ...(label !== null && { label }),
    ...(accountId !== null && { accountId }),
  }
}

function timeOf({ scheduledFor }: PostData): number {
  return scheduledFor === null ? Infinity : Date.parse(scheduledFor)
}

/** The first line of a post. */
function nameOf(post: PostData): string {
  const line = postName(post).trim().split('\n', 1)[0]?.replaceAll(/\s+/g, ' ') ?? ''
  const characters = Array.from(line)
  return characters.length <= NAME_LENGTH ? line : `${characters.slice(0, NAME_LENGTH - 1).join('')}…`
}

function lineOf(
  { comment, decidedAt, decision, guestName, kind, stageName }: PostDecisionData,
  time: (at: string) => string,
  texts: Texts,
): string {
  const line = texts.say('guestPage.decided', {
    when: time(decidedAt),
    stage: stageName,
    kind: guestName === null ? kind : 'guest',
    who: guestName ?? '',
    decision,
  })
  return comment === null ? line : `${line}: ${comment}`
}

function timesIn(timeZone: string, texts: Texts): (at: string | null) => string {
  const language = texts.language === 'en' ? 'en-GB' : texts.language
  const format = new Intl.DateTimeFormat(language, { timeZone, dateStyle: 'full', timeStyle: 'short' })
  return (at) => (at === null ? texts.say('guestPage.noTime') : `${format.format(new Date(at))} (${timeZone})`)
}

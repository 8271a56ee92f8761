import type { Clock } from '../../../../core/clock.ts'
import { AppError } from '../../../../core/error.ts'
import type { TurnRunner } from '../../../../core/system-turn.ts'
import type { Sql } from '../../../../core/sql.ts'
import type { Origin, WorkspaceLogs } from '../../../../core/workspace-logs.ts'
import { isUuid } from '../../../../tools/id.ts'
import { acceptedLanguage } from '../../../../language/accepted.ts'
import { textsFor, type TextKey, type Texts } from '../../../../language/texts.ts'
import { APPROVAL_DECISIONS } from '../../posts/index.ts'
import { findNames } from '../../../workspace/workspaces/index.ts'
import type { DecisionInputData } from '../schemas.ts'
import type { GuestRow } from '../tables.ts'
import { decideAsGuest } from '../turns.ts'
import type { GuestLinks } from './links.ts'
import {
  approveAllHtml,
  backForm,
  COOKIE,
  MAX_WAITING,
  NAME_LENGTH,
  notice,
  outcomesHtml,
  pageReply,
  passcodeForm,
  postsHtml,
  type GuestBrand,
  type ShownPost,
} from './page.ts'
import type { GuestPosts } from './posts.ts'

interface Visit {
  readonly token: string
  readonly cookie: string | undefined
  /** The Accept-Language header. */
  readonly accepted: string | undefined
  readonly origin: Origin
}

interface VisitNeeds {
  readonly sql: Sql
  readonly clock: Clock
  readonly logs: WorkspaceLogs
  readonly turns: TurnRunner
  readonly links: GuestLinks
  readonly posts: GuestPosts
  /** How the pages of a workspace look. */
  readonly brandOf: (workspaceId: string) => Promise<GuestBrand>
  readonly publicUrl: string
}

/** A guest whose link works, and how the page speaks to them. */
interface Guest {
  readonly guest: GuestRow
  readonly texts: Texts
  readonly origin: Origin
  readonly from: { readonly workspace: string; readonly brand: GuestBrand }
}

/** A post of a list, as the guest has seen it. */
interface Listed {
  readonly postId: string
  readonly contentHash: string
  readonly name: string
}

/** Why a decision was not recorded. */
interface Refusal {
  readonly status: 403 | 404 | 409
  readonly text: string
  /** Whether the guest has approved this content before, so that nothing is missing. */
  readonly isApproved: boolean
}

/** The page of guests: what they see, and what they send. Every look and every decision is in the audit log. */
export class GuestVisits {
  readonly #needs: VisitNeeds

  constructor(needs: VisitNeeds) {
    this.#needs = needs
  }

  async look(visit: Visit, view?: 'approve_all') {
    const found = await this.#find(visit)
    if (found === undefined) return gone(visit.accepted)
    if (!this.#isIn(found.guest, visit.cookie)) return this.#askPasscode(found, 200)
    return view === 'approve_all' ? this.#askAll(found) : this.#show(found)
  }

  async send(visit: Visit, body: string) {
    const { links } = this.#needs
    const found = await this.#find(visit)
    if (found === undefined) return gone(visit.accepted)
    const { guest } = found
    const fields = new URLSearchParams(body)
    if (!links.isProof(guest, 'form', fields.get('form') ?? undefined)) return notSent(403, found)
    if (fields.has('passcode')) return this.#enter(found, fields.get('passcode') ?? '')
    if (!this.#isIn(guest, visit.cookie)) return this.#askPasscode(found, 403)
    return fields.has('approve') ? this.#approveAll(found, fields.getAll('approve')) : this.#decide(found, fields)
  }

  async #find({ accepted, origin, token }: Visit): Promise<Guest | undefined> {
    const { brandOf, links, sql } = this.#needs
    const guest = await links.find(token)
    if (guest === undefined) return undefined
    const names = await findNames(sql, [guest.workspaceId])
    const from = { workspace: names.get(guest.workspaceId) ?? '', brand: await brandOf(guest.workspaceId) }
    return { guest, origin, from, texts: textsOf(accepted) }
  }

  async #enter(found: Guest, passcode: string) {
    const { guest, texts } = found
    const outcome = await this.#needs.links.enter(guest, passcode)
    if (outcome === 'right') return this.#show(found, { cookie: this.#cookieOf(guest) })
    await this.#audit(found, 'guestPasscodeRefused', {})
    if (outcome === 'wrong') return this.#askPasscode(found, 403, texts.say('guestPage.wrongPasscode'))
    return this.#askPasscode(found, 429, texts.say('guestPage.locked'))
  }

  async #decide(found: Guest, fields: URLSearchParams) {
    const { texts } = found
    const decision = APPROVAL_DECISIONS.find((one) => one === fields.get('decision'))
    const postId = fields.get('post') ?? ''
    const contentHash = fields.get('seen') ?? ''
    const comment = (fields.get('comment') ?? '').trim().slice(0, 2_000)
    if (decision === undefined || !isUuid(postId) || !HASH.test(contentHash)) return notSent(400, found)
    const refusal = await this.#record(found, postId, {
      decision,
      contentHash,
      ...(comment !== '' && { comment }),
    })
    if (refusal === undefined) return this.#show(found, { message: texts.say('guestPage.recorded') })
    const body = notice(refusal.text) + backForm(texts)
    return pageReply(refusal.status, { ...found, title: texts.say('guestPage.notRecorded'), body })
  }

  /** Shows the posts that one button approves. Nothing is approved yet. */
  async #askAll(found: Guest) {
    const { links, posts } = this.#needs
    const { guest, texts } = found
    const waiting = await posts.waiting(guest, texts)
    await this.#looked(found, waiting)
    const title = texts.say('guestPage.approveTitle', { count: waiting.length })
    const list = waiting.length === 0 ? '' : approveAllHtml(texts, waiting, links.proof(guest, 'form'))
    const body = (list === '' ? notice(texts.say('guestPage.nothing')) : list) + backForm(texts)
    return pageReply(200, { ...found, title, body })
  }

  /** Approves the posts of a list, each as the guest has seen it. One that cannot be approved does not stop the others. */
  async #approveAll(found: Guest, values: readonly string[]) {
    const { texts } = found
    const listed = [...new Set(values)].map(listedOf)
    if (listed.length > MAX_WAITING || listed.includes(undefined)) return notSent(400, found)
    const outcomes: { name: string; text: string; isApproved: boolean }[] = []
    for (const { contentHash, name, postId } of listed.filter((one) => one !== undefined)) {
      const refusal = await this.#record(found, postId, { decision: 'approve', contentHash })
      const text = refusal?.text ?? texts.say('guestPage.approved')
      outcomes.push({ name, text, isApproved: refusal?.isApproved ?? true })
    }
    // What was not approved comes first.
    const sorted = [...outcomes.filter((one) => !one.isApproved), ...outcomes.filter((one) => one.isApproved)]
    const approved = outcomes.filter((one) => one.isApproved).length
    const title = texts.say('guestPage.approvedCount', { approved, count: outcomes.length })
    const body = outcomesHtml(sorted) + backForm(texts)
    return pageReply(approved === 0 ? 409 : 200, { ...found, title, body })
  }

  /** Records a decision. @returns why it was not recorded; undefined when it was */
  async #record({ guest, origin, texts }: Guest, postId: string, input: DecisionInputData) {
    const { posts, turns } = this.#needs
    try {
      await turns.system(guest.workspaceId, decideAsGuest, { guestId: guest.id, postId, input, origin })
      return undefined
    } catch (error) {
      if (!(error instanceof AppError) || error.status >= 500) throw error
      const post = await posts.one(guest, postId, texts)
      return refusalOf(post, input.contentHash, { error, texts })
    }
  }

  async #show(found: Guest, { cookie, message }: { readonly message?: string; readonly cookie?: string } = {}) {
    const { links, posts } = this.#needs
    const { guest, texts } = found
    const shown = await posts.of(guest, texts)
    await this.#looked(found, shown)
    const body = [
      ...(message === undefined ? [] : [notice(message)]),
      postsHtml(texts, shown, links.proof(guest, 'form')),
    ]
    const title = texts.say('guestPage.title', { name: guest.name })
    return pageReply(200, { ...found, title, body: body.join('\n'), cookie })
  }

  async #looked(found: Guest, shown: readonly ShownPost[]): Promise<void> {
    await this.#audit(found, 'guestLooked', { postIds: shown.map(({ id }) => id) })
    await this.#needs.links.seen(found.guest)
  }

  #askPasscode<S extends 200 | 403 | 429>(found: Guest, status: S, message?: string) {
    const { guest, texts } = found
    const form = passcodeForm(texts, this.#needs.links.proof(guest, 'form'))
    const body = message === undefined ? form : notice(message) + form
    return pageReply(status, { ...found, title: texts.say('guestPage.askPasscode'), body })
  }

  #isIn(guest: GuestRow, cookie: string | undefined): boolean {
    return guest.passcodeHash === null || this.#needs.links.isProof(guest, 'cookie', cookie)
  }

  #cookieOf(guest: GuestRow): string {
    const secure = this.#needs.publicUrl.startsWith('https:') ? '; Secure' : ''
    const value = this.#needs.links.proof(guest, 'cookie')
    return `${COOKIE}=${value}; Path=/api/guests; Max-Age=43200; HttpOnly; SameSite=Strict${secure}`
  }

  async #audit({ guest, origin }: Guest, action: string, details: Record<string, unknown>): Promise<void> {
    const { clock, logs, sql } = this.#needs
    await logs.recordAudit(sql, {
      workspaceId: guest.workspaceId,
      caller: 'guest',
      action,
      target: { kind: 'approval_guest', id: guest.id },
      details: { name: guest.name, ...details },
      at: new Date(clock.now()),
      origin,
    })
  }
}

const HASH = /^[0-9a-f]{64}$/
const LISTED = /^([0-9a-f-]{36})\.([0-9a-f]{64})\.(.*)$/su

/** The value of a field of the list. @returns undefined if the page did not make it */
function listedOf(value: string): Listed | undefined {
  const [, postId = '', contentHash = '', name = ''] = LISTED.exec(value) ?? []
  if (!isUuid(postId)) return undefined
  return { postId, contentHash, name: Array.from(name).slice(0, NAME_LENGTH).join('') }
}

/**
 * Says why a decision was not recorded, by what the post is now.
 * @param post undefined if the link does not show it any more
 */
function refusalOf(
  post: ShownPost | undefined,
  seen: string | undefined,
  { error, texts }: { readonly error: AppError; readonly texts: Texts },
): Refusal {
  const status = error.status === 403 ? 403 : error.status === 404 ? 404 : 409
  const because = (key: TextKey, isApproved = false): Refusal => ({ status, text: texts.say(key), isApproved })
  if (post === undefined) return because('guestPage.gone')
  if (post.decidedHash !== null && post.decidedHash === seen && post.contentHash === null) {
    return because('guestPage.decidedBefore', post.decided === 'approve')
  }
  if (post.contentHash === null) return because('guestPage.closed')
  if (post.contentHash !== seen) return because('guestPage.changedSince')
  return { status, text: error.message, isApproved: false }
}

function textsOf(accepted: string | undefined): Texts {
  return textsFor(acceptedLanguage(accepted, 'en'))
}

function gone(accepted: string | undefined) {
  const texts = textsOf(accepted)
  const body = notice(texts.say('guestPage.linkGone'))
  return pageReply(404, { texts, title: texts.say('guestPage.linkGoneTitle'), body })
}

function notSent<S extends 400 | 403>(status: S, found: Guest) {
  const { texts } = found
  const body = notice(texts.say('guestPage.wrongForm'))
  return pageReply(status, { ...found, title: texts.say('guestPage.notSent'), body })
}

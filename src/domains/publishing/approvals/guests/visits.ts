import type { Clock } from '../../../../core/clock.ts'
import { AppError } from '../../../../core/error.ts'
import type { TurnRunner } from '../../../../core/system-turn.ts'
import type { Sql } from '../../../../core/sql.ts'
import type { Origin, WorkspaceLogs } from '../../../../core/workspace-logs.ts'
import { isUuid } from '../../../../core/id.ts'
import { APPROVAL_DECISIONS } from '../../posts/index.ts'
import type { GuestRow } from '../tables.ts'
import { decideAsGuest } from '../turns.ts'
import type { GuestLinks } from './links.ts'
import { COOKIE, notice, pageReply, passcodeForm, postHtml } from './page.ts'
import type { GuestPosts } from './posts.ts'

interface Visit {
  readonly token: string
  readonly cookie: string | undefined
  readonly origin: Origin
}

interface VisitNeeds {
  readonly sql: Sql
  readonly clock: Clock
  readonly logs: WorkspaceLogs
  readonly turns: TurnRunner
  readonly links: GuestLinks
  readonly posts: GuestPosts
  readonly publicUrl: string
}

const GONE = 'This link does not work. It may have expired, or it was revoked. Ask for a new one.'

/** The page of guests: what they see, and what they send. Every look and every decision is in the audit log. */
export class GuestVisits {
  readonly #needs: VisitNeeds

  constructor(needs: VisitNeeds) {
    this.#needs = needs
  }

  async look({ cookie, origin, token }: Visit) {
    const guest = await this.#needs.links.find(token)
    if (guest === undefined) return pageReply(404, { title: 'Link not found', body: notice(GONE) })
    if (!this.#isIn(guest, cookie)) return this.#askPasscode(guest, 200)
    return this.#show(guest, origin)
  }

  async send({ cookie, origin, token }: Visit, body: string) {
    const { links } = this.#needs
    const guest = await links.find(token)
    if (guest === undefined) return pageReply(404, { title: 'Link not found', body: notice(GONE) })
    const fields = new URLSearchParams(body)
    if (!links.isProof(guest, 'form', fields.get('form') ?? undefined)) {
      return pageReply(403, { title: 'Not sent', body: notice('Open the link again, and use the form on its page.') })
    }
    if (fields.has('passcode')) return this.#enter(guest, fields.get('passcode') ?? '', origin)
    if (!this.#isIn(guest, cookie)) return this.#askPasscode(guest, 403)
    return this.#decide(guest, fields, origin)
  }

  async #enter(guest: GuestRow, passcode: string, origin: Origin) {
    const outcome = await this.#needs.links.enter(guest, passcode)
    if (outcome === 'right') return this.#show(guest, origin, undefined, this.#cookieOf(guest))
    await this.#audit(guest, 'guestPasscodeRefused', origin, {})
    if (outcome === 'wrong') return this.#askPasscode(guest, 403, 'The passcode is wrong.')
    return this.#askPasscode(guest, 429, 'Too many wrong passcodes. Try again in 15 minutes.')
  }

  async #decide(guest: GuestRow, fields: URLSearchParams, origin: Origin) {
    const decision = APPROVAL_DECISIONS.find((one) => one === fields.get('decision'))
    const postId = fields.get('post') ?? ''
    const contentHash = fields.get('seen') ?? ''
    const comment = (fields.get('comment') ?? '').trim().slice(0, 2_000)
    if (decision === undefined || !isUuid(postId) || !/^[0-9a-f]{64}$/.test(contentHash)) {
      return pageReply(400, { title: 'Not sent', body: notice('Open the link again, and use the form on its page.') })
    }
    const input = { decision, contentHash, ...(comment !== '' && { comment }) }
    try {
      await this.#needs.turns.system(guest.workspaceId, decideAsGuest, { guestId: guest.id, postId, input, origin })
      return await this.#show(guest, origin, 'Thank you. Your decision was recorded.')
    } catch (error) {
      if (!(error instanceof AppError) || ![403, 404, 409].includes(error.status)) throw error
      const status = error.status as 403 | 404 | 409
      return pageReply(status, { title: 'Not recorded', body: notice(error.message) + BACK })
    }
  }

  async #show(guest: GuestRow, origin: Origin, message?: string, cookie?: string) {
    const { links, posts } = this.#needs
    const shown = await posts.of(guest)
    await this.#audit(guest, 'guestLooked', origin, { postIds: shown.map(({ id }) => id) })
    await links.seen(guest)
    const proof = links.proof(guest, 'form')
    const body = [
      ...(message === undefined ? [] : [notice(message)]),
      ...(shown.length === 0 ? [notice('There is nothing to approve at the moment.')] : []),
      ...shown.map((post) => postHtml(post, proof)),
    ]
    return pageReply(200, { title: `Posts for ${guest.name}`, body: body.join('\n'), cookie })
  }

  #askPasscode<S extends 200 | 403 | 429>(guest: GuestRow, status: S, message?: string) {
    const form = passcodeForm(this.#needs.links.proof(guest, 'form'))
    const body = message === undefined ? form : notice(message) + form
    return pageReply(status, { title: 'Enter the passcode', body })
  }

  #isIn(guest: GuestRow, cookie: string | undefined): boolean {
    return guest.passcodeHash === null || this.#needs.links.isProof(guest, 'cookie', cookie)
  }

  #cookieOf(guest: GuestRow): string {
    const secure = this.#needs.publicUrl.startsWith('https:') ? '; Secure' : ''
    const value = this.#needs.links.proof(guest, 'cookie')
    return `${COOKIE}=${value}; Path=/api/guests; Max-Age=43200; HttpOnly; SameSite=Strict${secure}`
  }

  async #audit(guest: GuestRow, action: string, origin: Origin, details: Record<string, unknown>): Promise<void> {
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

const BACK = '<form method="get"><button>Back to the posts</button></form>'

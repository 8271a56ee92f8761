import { DAY, HOUR, SECOND, type Clock } from '../core/clock.ts'
import { defineError } from '../core/error.ts'
import { uuidv7 } from '../tools/id.ts'
import type { Sql } from '../core/sql.ts'
import { lessThan } from '../db/condition.ts'
import { deleteInBatches } from '../db/delete-in-batches.ts'
import { query } from '../db/query.ts'
import { mailLog } from './tables.ts'
import { keyFor, type Key } from '../tools/keys.ts'

declare module '../core/services.ts' {
  interface Services {
    readonly mailLimits: MailLimits
  }
}

export const TooManyMails = defineError({
  code: 'too_many_mails',
  status: 429,
  message: 'Too many mails were sent.',
  cause: 'Mails to other people are limited per recipient, per requesting account and per workspace.',
  fix: 'Wait for the number of seconds in Retry-After. The message names the limit.',
})

/**
 * Kinds of mails that anyone can have sent to any address. `code` and `reset` need no account. Requests from a network
 * that the account is known to use are counted separately, so that other people cannot exhaust the owner's limit.
 */
export type LimitedMail = 'code' | 'known_code' | 'reset' | 'known_reset' | 'invitation' | 'report'

/** A mail that is about to be sent. */
export interface MailRequest {
  readonly kind: LimitedMail
  /** The address, normalized by `normalizeEmail`. */
  readonly to: string
  /** The requesting account, if it is known. */
  readonly accountId?: string
  readonly workspaceId?: string
}

interface MailLimit {
  readonly per: 'recipient' | 'recipient and workspace' | 'account' | 'workspace'
  readonly most: number
  readonly withinMs: number
}

const UNASKED: readonly MailLimit[] = [
  { per: 'recipient', most: 5, withinMs: HOUR },
  { per: 'recipient', most: 15, withinMs: DAY },
]

/** Limits of mails that a member sends to other people. */
const INVITATIONS: readonly MailLimit[] = [
  { per: 'recipient and workspace', most: 3, withinMs: HOUR },
  { per: 'recipient and workspace', most: 6, withinMs: DAY },
  { per: 'recipient', most: 10, withinMs: DAY },
  { per: 'account', most: 50, withinMs: HOUR },
  { per: 'account', most: 200, withinMs: DAY },
  { per: 'workspace', most: 50, withinMs: HOUR },
  { per: 'workspace', most: 200, withinMs: DAY },
]

const LIMITS: Readonly<Record<LimitedMail, readonly MailLimit[]>> = {
  code: UNASKED,
  known_code: UNASKED,
  reset: UNASKED,
  known_reset: UNASKED,
  invitation: INVITATIONS,
  report: INVITATIONS,
}

/** No limit counts mails older than this. */
const LONGEST_MS = DAY

interface Counted {
  readonly recipient?: string
  readonly accountId?: string
  readonly workspaceId?: string
}

/** The mail after the `skip` newest ones. While it is within the window of a limit of `skip + 1`, the limit is reached. */
const nthNewest = query({ mailLog }, (db, $: Counted & { kind: LimitedMail; sentAfter: string; skip: number }) => {
  let found = db.selectFrom('mailLog').select('sentAt').where('kind', '=', $.kind).where('sentAt', '>', $.sentAfter)
  if ($.recipient !== undefined) found = found.where('recipient', '=', $.recipient)
  if ($.accountId !== undefined) found = found.where('accountId', '=', $.accountId)
  if ($.workspaceId !== undefined) found = found.where('workspaceId', '=', $.workspaceId)
  return found.orderBy('sentAt', 'desc').limit(1).offset($.skip)
})

/**
 * Limits on mails to people who did not request them. Each mail is a row, written in the transaction that sends it.
 * Rows are only inserted, so transactions of different workspaces never wait for each other. As a consequence,
 * concurrent requests may exceed a limit by the number of requests that run at once.
 */
export class MailLimits {
  readonly #sql: Sql
  readonly #clock: Clock
  readonly #key: Key
  readonly #enabled: boolean

  /** @param enabled the setting RATE_LIMITS */
  constructor(sql: Sql, clock: Clock, secret: string, enabled: boolean) {
    this.#sql = sql
    this.#clock = clock
    this.#enabled = enabled
    this.#key = keyFor(secret, 'mail limits')
  }

  /** Whether another mail may be sent. Does not count it. */
  async allows(sql: Sql, mail: MailRequest): Promise<boolean> {
    return (await this.#reached(sql, mail)) === undefined
  }

  /** Counts a mail, in the transaction that sends it. */
  async count(sql: Sql, { accountId, kind, to, workspaceId }: MailRequest): Promise<void> {
    const now = this.#clock.now()
    const recipient = this.#digest(to)
    await mailLog.insert(sql, { id: uuidv7(now), kind, recipient, accountId, workspaceId, sentAt: new Date(now) })
  }

  /**
   * Counts a mail that is about to be sent.
   * @throws AppError too_many_mails
   */
  async require(sql: Sql, mail: MailRequest): Promise<void> {
    const reached = await this.#reached(sql, mail)
    if (reached === undefined) return this.count(sql, mail)
    const { limit, retryAfter } = reached
    const window = limit.withinMs === DAY ? 'day' : 'hour'
    throw TooManyMails({
      retryAfter,
      message: `The limit of ${limit.most} such mails per ${limit.per} and ${window} is reached. Wait ${retryAfter} s.`,
      details: { limit: limit.most, windowSeconds: limit.withinMs / SECOND },
    })
  }

  /** Deletes mails that no longer count. */
  async sweep(): Promise<void> {
    await deleteInBatches(mailLog, this.#sql, { sentAt: lessThan(new Date(this.#clock.now() - LONGEST_MS)) })
  }

  async #reached(sql: Sql, mail: MailRequest): Promise<{ limit: MailLimit; retryAfter: number } | undefined> {
    if (!this.#enabled) return undefined
    const now = this.#clock.now()
    for (const limit of LIMITS[mail.kind]) {
      const counted = this.#countedBy(limit, mail)
      if (counted === undefined) continue
      const sentAfter = new Date(now - limit.withinMs).toISOString()
      const row = await nthNewest.row(sql, { kind: mail.kind, sentAfter, skip: limit.most - 1, ...counted })
      if (row === undefined) continue
      const retryAfter = Math.max(1, Math.ceil((Date.parse(row.sentAt) + limit.withinMs - now) / SECOND))
      return { limit, retryAfter }
    }
    return undefined
  }

  /** Which mails count towards a limit; undefined for a mail without the account or workspace that the limit is per. */
  #countedBy({ per }: MailLimit, { accountId, to, workspaceId }: MailRequest): Counted | undefined {
    if (per === 'recipient') return { recipient: this.#digest(to) }
    if (per === 'account') return accountId === undefined ? undefined : { accountId }
    if (workspaceId === undefined) return undefined
    return per === 'workspace' ? { workspaceId } : { recipient: this.#digest(to), workspaceId }
  }

  /** The table contains digests instead of addresses. */
  #digest(address: string): string {
    return this.#key.mac(address)
  }
}

import { createHmac, hkdfSync } from 'node:crypto'
import { DAY, HOUR, SECOND, type Clock } from '../core/clock.ts'
import { defineError } from '../core/error.ts'
import { uuidv7 } from '../core/id.ts'
import type { Sql } from '../core/sql.ts'

declare module '../core/services.ts' {
  interface Services {
    readonly mailLimits: MailLimits
  }
}

export const TooManyMails = defineError({
  code: 'too_many_mails',
  status: 429,
  message: 'Too many mails were sent.',
  cause:
    'Mails that somebody else receives are limited by recipient, by the account that asks for them and by workspace.',
  fix: 'Wait as many seconds as Retry-After says. The message names the limit.',
})

/**
 * What anybody can have mailed to an address that they typed. `code` and `reset` need no account; those asked for from a
 * network that the account is known to use are counted apart, so that a stranger cannot use up the owner's share.
 */
export type LimitedMail = 'code' | 'known_code' | 'reset' | 'known_reset' | 'invitation'

/** One mail that is about to be sent. */
export interface MailRequest {
  readonly kind: LimitedMail
  /** The address, as `normalizeEmail` leaves it. */
  readonly to: string
  /** Who asks, where that is known. */
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

const LIMITS: Readonly<Record<LimitedMail, readonly MailLimit[]>> = {
  code: UNASKED,
  known_code: UNASKED,
  reset: UNASKED,
  known_reset: UNASKED,
  invitation: [
    { per: 'recipient and workspace', most: 3, withinMs: HOUR },
    { per: 'recipient and workspace', most: 6, withinMs: DAY },
    { per: 'recipient', most: 10, withinMs: DAY },
    { per: 'account', most: 50, withinMs: HOUR },
    { per: 'account', most: 200, withinMs: DAY },
    { per: 'workspace', most: 50, withinMs: HOUR },
    { per: 'workspace', most: 200, withinMs: DAY },
  ],
}

/** Nothing older counts. */
const LONGEST_MS = DAY

/**
 * Limits on mails to people who did not ask for them. Each mail is a row, written in the transaction that sends it. Rows
 * are only added, so that no two workspaces wait for each other's transactions; requests at the same moment may exceed a
 * limit by as many as they are.
 */
export class MailLimits {
  readonly #sql: Sql
  readonly #clock: Clock
  readonly #key: Buffer
  readonly #enabled: boolean

  /** @param enabled as RATE_LIMITS says */
  constructor(sql: Sql, clock: Clock, secret: string, enabled: boolean) {
    this.#sql = sql
    this.#clock = clock
    this.#enabled = enabled
    this.#key = Buffer.from(hkdfSync('sha256', secret, 'crier', 'mail limits', 32))
  }

  /** Whether another mail may be sent. Counts nothing. */
  async allows(sql: Sql, mail: MailRequest): Promise<boolean> {
    return (await this.#reached(sql, mail)) === undefined
  }

  /** Counts a mail, in the transaction that sends it. */
  async count(sql: Sql, { accountId, kind, to, workspaceId }: MailRequest): Promise<void> {
    const now = this.#clock.now()
    await sql.run(
      'insert into mail_log (id, kind, recipient, account_id, workspace_id, sent_at) values ($1, $2, $3, $4, $5, $6)',
      [uuidv7(now), kind, this.#digest(to), accountId ?? null, workspaceId ?? null, new Date(now)],
    )
  }

  /** Counts a mail that is about to be sent. @throws AppError too_many_mails */
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

  /** Deletes what no longer counts. */
  async sweep(): Promise<void> {
    await this.#sql.run('delete from mail_log where sent_at < $1', [new Date(this.#clock.now() - LONGEST_MS)])
  }

  async #reached(sql: Sql, mail: MailRequest): Promise<{ limit: MailLimit; retryAfter: number } | undefined> {
    if (!this.#enabled) return undefined
    const now = this.#clock.now()
    for (const limit of LIMITS[mail.kind]) {
      const counted = Object.entries(this.#countedBy(limit, mail))
      // The newest mail but so many: while it is within the window, the limit is used up.
      const row = await sql.row<{ sent_at: string }>(
        `select sent_at from mail_log
         where kind = $1 and sent_at > $2 and ${counted.map(([column], index) => `${column} = $${index + 4}`).join(' and ')}
         order by sent_at desc offset $3 limit 1`,
        [mail.kind, new Date(now - limit.withinMs), limit.most - 1, ...counted.map(([, value]) => value)],
      )
      if (row === undefined) continue
      const retryAfter = Math.max(1, Math.ceil((Date.parse(row.sent_at) + limit.withinMs - now) / SECOND))
      return { limit, retryAfter }
    }
    return undefined
  }

  /** Columns of `mail_log` with what they must hold for a mail to count. */
  #countedBy({ per }: MailLimit, { accountId, to, workspaceId }: MailRequest): Record<string, string | null> {
    const workspace = { workspace_id: workspaceId ?? null }
    const recipient = { recipient: this.#digest(to) }
    if (per === 'recipient') return recipient
    if (per === 'account') return { account_id: accountId ?? null }
    return per === 'workspace' ? workspace : { ...recipient, ...workspace }
  }

  /** The table names nobody. */
  #digest(address: string): string {
    return createHmac('sha256', this.#key).update(address).digest('base64url')
  }
}

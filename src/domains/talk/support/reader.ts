import { sql as raw, type Kysely } from 'kysely'
import type { Caller } from '../../../core/caller.ts'
import type { Clock } from '../../../core/clock.ts'
import { NotFound } from '../../../core/errors.ts'
import { pageOf, type PageRequest } from '../../../core/page.ts'
import type { PageResult } from '../../../core/reply.ts'
import type { Sql } from '../../../core/sql.ts'
import { isOneOf, query, values, type DatabaseOf, type Values } from '../../../db/query.ts'
import { findUsers } from '../../identity/users/index.ts'
import { attachmentView, type TicketAttachments } from './attachments.ts'
import type { TicketData, TicketFilter, TicketStatsData, TicketSummaryData } from './schemas.ts'
import type { Priority, TicketStatus } from './states.ts'
import { dueTimes, type Targets } from './targets.ts'
import { supportMessages, supportTickets, type TicketRow } from './tables.ts'

/** Who reads or writes: administrators are the support team. */
export type Party = Pick<Caller, 'userId' | 'isAdmin'>

const findTickets = query(
  { supportTickets },
  (
    db,
    $: {
      readonly userId?: Values<string> | undefined
      readonly assigneeId?: Values<string> | undefined
      readonly category?: Values<string> | undefined
      readonly priority?: Values<Priority> | undefined
      readonly status?: Values<TicketStatus> | undefined
      /** Set for only unverified, or only verified tickets. */
      readonly unverified?: true | undefined
      readonly verified?: true | undefined
      readonly afterId?: string | undefined
      readonly limit: number
    },
  ) => {
    let found = db.selectFrom('supportTickets').select(supportTickets.properties).orderBy('id', 'desc').limit($.limit)
    if ($.userId !== undefined) found = found.where(isOneOf('userId', $.userId))
    if ($.status !== undefined) found = found.where(isOneOf('status', $.status))
    if ($.priority !== undefined) found = found.where(isOneOf('priority', $.priority))
    if ($.category !== undefined) found = found.where(isOneOf('category', $.category))
    if ($.assigneeId !== undefined) found = found.where(isOneOf('assigneeId', $.assigneeId))
    if ($.unverified) found = found.where('userId', 'is', null)
    if ($.verified) found = found.where('userId', 'is not', null)
    if ($.afterId !== undefined) found = found.where('id', '<', $.afterId)
    return found
  },
)

interface Counted {
  /** Whose tickets count; all without it. */
  readonly userId?: string | undefined
}

const countByStatus = query({ supportTickets }, (db, $: Counted) =>
  counted(db, $).select('status').groupBy('status').orderBy('status'),
)
const countByPriority = query({ supportTickets }, (db, $: Counted) =>
  counted(db, $).select('priority').groupBy('priority').orderBy('priority'),
)
const countByCategory = query({ supportTickets }, (db, $: Counted) =>
  counted(db, $).select('category').groupBy('category').orderBy('category'),
)

/** Numbers of tickets, the largest first. */
function counted(db: Kysely<DatabaseOf<{ supportTickets: typeof supportTickets }>>, { userId }: Counted) {
  const all = db
    .selectFrom('supportTickets')
    .select((e) => e.fn.countAll<number>().as('count'))
    .orderBy('count', 'desc')
    .limit(raw.lit(50))
  return userId === undefined ? all : all.where('userId', '=', userId)
}

/** Older tickets are not timed: the times show how the team works now, and to read all would take ever longer. */
const MAX_TIMED = 10_000

const timesOfResponses = timesOf('firstResponseAt')
const timesOfResolutions = timesOf('resolvedAt')

/** How long something took, and how often its target was met, among the newest tickets. */
function timesOf(done: 'firstResponseAt' | 'resolvedAt') {
  return query({ supportTickets }, (db, $: { hours: string; now: string }) =>
    db
      .selectFrom((e) =>
        e
          .selectFrom('supportTickets')
          .select([`${done} as doneAt`, 'createdAt'])
          .select((row) => {
            const hours = raw`(${$.hours}::jsonb ->> ${row.ref('priority')})::float8`
            return raw<string>`${row.ref('createdAt')} + ${hours} * interval '1 hour'`.as('dueAt')
          })
          .orderBy('id', 'desc')
          .limit(raw.lit(MAX_TIMED))
          .as('target'),
      )
      .select((e) => {
        const seconds = raw`extract(epoch from ${e('doneAt', '-', e.ref('createdAt'))})::float8`
        const isLate = e.or([
          e('doneAt', '>', e.ref('dueAt')),
          e.and([e('doneAt', 'is', null), e('dueAt', '<', $.now)]),
        ])
        return [
          raw<number | null>`percentile_cont(0.5) within group (order by ${seconds})`.as('median'),
          e.fn.countAll<number>().filterWhere('doneAt', '<=', e.ref('dueAt')).as('met'),
          e.fn.countAll<number>().filterWhere(isLate).as('missed'),
        ]
      }),
  )
}

/** Reads tickets: users their own, administrators all. */
export class TicketReader {
  readonly #sql: Sql
  readonly #clock: Clock
  readonly #targets: Targets
  readonly #attachments: TicketAttachments

  constructor(sql: Sql, clock: Clock, targets: Targets, attachments: TicketAttachments) {
    this.#sql = sql
    this.#clock = clock
    this.#targets = targets
    this.#attachments = attachments
  }

  /** A page of tickets, newest first. Users see their own only, whatever the filter says. */
  async list(
    party: Party,
    filter: TicketFilter,
    { after, limit }: PageRequest,
  ): Promise<PageResult<TicketSummaryData>> {
    const rows = (await findTickets.rows(this.#sql, {
      assigneeId: values(filter.assigneeId),
      category: values(filter.category),
      priority: values(filter.priority),
      status: values(filter.status),
      userId: values(party.isAdmin ? filter.createdBy : [party.userId]),
      unverified: filter.isUnverified === true || undefined,
      verified: filter.isUnverified === false || undefined,
      afterId: after?.id,
      limit: limit + 1,
    })) as TicketRow[]
    return pageOf(
      rows,
      limit,
      ({ createdAt, id }) => ({ createdAt, id }),
      (row) => this.#summary(row),
    )
  }

  /** @throws AppError not_found, also for tickets of others */
  async get(party: Party, id: string): Promise<TicketData> {
    return this.view(this.#sql, await findTicket(this.#sql, party, id), party)
  }

  /** A ticket with its messages. Notes are shown to administrators only. */
  async view(sql: Sql, row: TicketRow, { isAdmin }: Party): Promise<TicketData> {
    const all = await supportMessages.find(sql, { ticketId: row.id }, { orderBy: ['id asc'] })
    const shown = isAdmin ? all : all.filter(({ role }) => role !== 'note')
    const authorIds = new Set(shown.flatMap(({ authorId }) => authorId ?? []))
    const authors = await findUsers(sql, [...authorIds], { columns: ['id', 'name'] })
    const names = new Map(authors.map(({ id, name }) => [id, name]))
    const files = await this.#attachments.of(
      sql,
      shown.map(({ id }) => id),
    )
    const messages = shown.map(({ authorId, byMail, content, createdAt, id, role, unverifiedFrom }) => ({
      _id: id,
      role,
      content,
      authorName: names.get(authorId ?? '') ?? '',
      byMail,
      isUnverified: unverifiedFrom !== null,
      unverifiedFrom,
      attachments: (files.get(id) ?? []).map(attachmentView),
      createdAt,
    }))
    return { ...this.#summary(row), messages }
  }

  /** Numbers of the own tickets; for administrators of all, with times against the targets. */
  async stats({ isAdmin, userId }: Party): Promise<TicketStatsData> {
    const mine = isAdmin ? {} : { userId }
    const [byStatus, byPriority, byCategory] = await Promise.all([
      countByStatus.rows(this.#sql, mine),
      countByPriority.rows(this.#sql, mine),
      countByCategory.rows(this.#sql, mine),
    ])
    const total = byStatus.reduce((sum, { count }) => sum + count, 0)
    const times = isAdmin
      ? {
          firstResponse: await this.#times(timesOfResponses, this.#targets.firstResponse),
          resolution: await this.#times(timesOfResolutions, this.#targets.resolution),
        }
      : { firstResponse: null, resolution: null }
    return { total, byStatus, byPriority, byCategory, ...times }
  }

  #summary(row: TicketRow): TicketSummaryData {
    const { assigneeId, category, closedAt, createdAt, firstResponseAt, id, priority, resolvedAt } = row
    return {
      _id: id,
      createdAt,
      updatedAt: row.updatedAt,
      subject: row.subject,
      category,
      priority,
      status: row.status,
      createdBy: row.userId,
      isUnverified: row.unverifiedFrom !== null,
      unverifiedFrom: row.unverifiedFrom,
      assigneeId,
      firstResponseAt,
      resolvedAt,
      closedAt,
      ...dueTimes(row, this.#targets, this.#clock.now()),
      version: row.version,
    }
  }

  async #times(times: ReturnType<typeof timesOf>, hours: Targets['resolution']) {
    const now = new Date(this.#clock.now()).toISOString()
    const found = await times.row(this.#sql, { hours: JSON.stringify(hours), now })
    const { median = null, met: metCount = 0, missed: missedCount = 0 } = found ?? {}
    return { medianSeconds: median, metCount, missedCount }
  }
}

/** @throws AppError not_found, also for tickets of others */
export async function findTicket(
  sql: Sql,
  { isAdmin, userId }: Party,
  id: string,
  lock?: 'for update',
): Promise<TicketRow> {
  const row = await supportTickets.first(sql, { id }, lock === undefined ? {} : { lock })
  if (row === undefined || (!isAdmin && row.userId !== userId)) throw NotFound()
  return row
}

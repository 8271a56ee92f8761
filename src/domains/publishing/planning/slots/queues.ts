import type { Clock } from '../../../../core/clock.ts'
import { ValidationFailed } from '../../../../core/errors.ts'
import { requireVersion, type IfMatch } from '../../../../core/precondition.ts'
import type { Sql } from '../../../../core/sql.ts'
import type { MemoryKey, Turn } from '../../../../core/turn.ts'
import { publishingSettingsOf } from '../../../identity/users/index.ts'
import { timeZoneOf } from '../../../workspace/workspaces/index.ts'
import { postingAccounts } from '../../../social/accounts/index.ts'
import { parseQueue, type Queue } from '../../calendar/index.ts'
import type { PlanningScope } from '../../posts/index.ts'
import { queueUpdated } from './events.ts'
import type { QueueData, QueueInputData } from './schemas.ts'
import { postQueues, type QueueRow } from './tables.ts'

/** A queue as turns use it. */
export interface ReadyQueue {
  readonly queue: Queue
  readonly version: number
  /** The slots of a user, if the workspace has no queue. */
  readonly slots?: string
}

/** The stored row, which only turns write. */
const STORED: MemoryKey<{ row: QueueRow | null | undefined }> = {
  name: 'posts.queue',
  make: () => ({ row: undefined }),
}

/** The queues of workspaces. */
export class PostQueues {
  readonly #sql: Sql
  readonly #clock: Clock

  constructor(sql: Sql, clock: Clock) {
    this.#sql = sql
    this.#clock = clock
  }

  async get(workspaceId: string, sql: Sql = this.#sql): Promise<QueueData> {
    return viewOf(workspaceId, await postQueues.first(sql, { workspaceId }), await timeZoneOf(sql, workspaceId))
  }

  /** Replaces the queue. @throws AppError validation_failed, precondition_failed */
  async replace(turn: Turn, input: QueueInputData, ifMatch: IfMatch): Promise<QueueData> {
    const { workspaceId } = turn
    const before = await postQueues.first(turn.sql, { workspaceId })
    requireVersion(ifMatch, before?.version ?? 0)
    const zone = await timeZoneOf(turn.sql, workspaceId)
    const slots = input.slots.map(({ accountIds = [], label = null, time, weekday }) => {
      return { weekday, time, label, ...(accountIds.length > 0 && { accountIds }) }
    })
    const { blackouts = [], minimumGapMinutes = 0, timezone = null } = input
    const parsed = parseQueue({ timezone: timezone ?? zone, slots, blackouts, minimumGapMinutes })
    if (!parsed.ok) {
      const { code, field, message } = parsed.problem
      throw ValidationFailed({ errors: [{ path: `/body/${field}`, code, message }] })
    }
    await requireAccounts(turn, input.slots)
    const at = new Date(this.#clock.now()).toISOString()
    const row: QueueRow = {
      workspaceId,
      version: (before?.version ?? 0) + 1,
      timeZone: timezone === null ? null : parsed.value.timezone,
      slots,
      blackouts,
      minimumGapMinutes,
      createdAt: before?.createdAt ?? at,
      updatedAt: at,
    }
    await postQueues.upsert(turn.sql, row, ['workspaceId'])
    turn.settled(() => (turn.memory(STORED).row = row))
    turn.audit({ kind: 'post_queue', id: workspaceId })
    const view = viewOf(workspaceId, row, zone)
    turn.emit(queueUpdated, view)
    return view
  }

  /** The queue of the turn's workspace. Until it has one, the slots of the user's settings are used. */
  async ready(turn: PlanningScope, workspaceZone: string, userId?: string): Promise<ReadyQueue> {
    let { row } = turn.memory(STORED)
    if (row === undefined) {
      const found = (await postQueues.first(turn.sql, { workspaceId: turn.workspaceId })) ?? null
      turn.settled(() => (turn.memory(STORED).row ??= found))
      row = found
    }
    return row === null ? ownQueue(turn.sql, workspaceZone, userId) : readyOf(row, workspaceZone)
  }

  /** The same for a read. */
  async read(workspaceId: string, userId?: string): Promise<ReadyQueue> {
    const zone = await timeZoneOf(this.#sql, workspaceId)
    const row = await postQueues.first(this.#sql, { workspaceId })
    return row === undefined ? ownQueue(this.#sql, zone, userId) : readyOf(row, zone)
  }
}

async function ownQueue(sql: Sql, workspaceZone: string, userId: string | undefined): Promise<ReadyQueue> {
  const settings = userId === undefined ? undefined : (await publishingSettingsOf(sql, [userId])).get(userId)
  const { defaultTimezone = null, queueSlots = [] } = settings ?? {}
  const slots = queueSlots.map(({ time, weekday }) => ({ weekday, time, label: null }))
  const timezone = slots.length === 0 ? workspaceZone : (defaultTimezone ?? workspaceZone)
  const parsed = parseQueue({ timezone, slots, blackouts: [], minimumGapMinutes: 0 })
  if (!parsed.ok) throw new Error(`The queue slots of a user are not valid: ${parsed.problem.message}`)
  return { queue: parsed.value, version: 0, ...(slots.length > 0 && { slots: JSON.stringify(slots) }) }
}

function readyOf(row: QueueRow | undefined, workspaceZone: string): ReadyQueue {
  const { blackouts = [], minimumGapMinutes = 0, slots = [], timeZone = null, version = 0 } = row ?? {}
  const parsed = parseQueue({ timezone: timeZone ?? workspaceZone, slots, blackouts, minimumGapMinutes })
  if (!parsed.ok) throw new Error(`A stored queue is not valid: ${parsed.problem.message}`)
  return { queue: parsed.value, version }
}

function viewOf(workspaceId: string, row: QueueRow | undefined, workspaceZone: string): QueueData {
  return {
    workspaceId,
    version: row?.version ?? 0,
    timezone: row?.timeZone ?? null,
    effectiveTimezone: row?.timeZone ?? workspaceZone,
    slots: (row?.slots ?? []).map(({ accountIds = [], label = null, time, weekday }) => {
      return { weekday, time, label, accountIds: [...accountIds] }
    }),
    blackouts: [...(row?.blackouts ?? [])],
    minimumGapMinutes: row?.minimumGapMinutes ?? 0,
  }
}

async function requireAccounts(turn: Turn, slots: QueueInputData['slots']): Promise<void> {
  const ids = [...new Set(slots.flatMap(({ accountIds = [] }) => accountIds))]
  const known = await postingAccounts(turn.sql, turn.workspaceId, ids)
  const errors = slots.flatMap(({ accountIds = [] }, index) =>
    accountIds.flatMap((id, at) => {
      if (known.has(id)) return []
      const path = `/body/slots/${index}/accountIds/${at}`
      return [{ path, code: 'unknown', message: 'must be a social account of the workspace' }]
    }),
  )
  if (errors.length > 0) throw ValidationFailed({ errors })
}

import { sql as raw } from 'kysely'
import { uuidv7 } from '../tools/id.ts'
import type { EventRange, LoggedEvent, NewAuditRecord, WorkspaceLogs } from '../core/workspace-logs.ts'
import { anyOf } from '../db/condition.ts'
import { inSharedBatches } from '../db/delete-in-batches.ts'
import { generation } from '../db/history.ts'
import { isOneOf, query, values, type Values } from '../db/query.ts'
import { actorOf, workspaceOf } from './actor-name.ts'
import { actorFence, auditLog, workspaceEvents } from './tables.ts'

interface AuditPage {
  readonly workspaceId: string
  readonly actorId?: Values<string> | undefined
  readonly action?: Values<string> | undefined
  readonly from?: string | undefined
  readonly to?: string | undefined
  readonly createdBefore?: string | undefined
  readonly idBefore?: string | undefined
  readonly limit: number
}

const auditPage = query({ auditLog }, (db, $: AuditPage) => {
  let found = db
    .selectFrom('auditLog')
    .select(['id', 'workspaceId', 'actorId', 'actorVia', 'apiKeyId', 'action', 'targetKind', 'targetId', 'details'])
    .select(['remoteAddress', 'userAgent', 'requestId', 'createdAt'])
    .where('workspaceId', '=', $.workspaceId)
    .orderBy('createdAt', 'desc')
    .orderBy('id', 'desc')
    .limit($.limit)
  if ($.actorId !== undefined) found = found.where(isOneOf('actorId', $.actorId))
  if ($.action !== undefined) found = found.where(isOneOf('action', $.action))
  if ($.from !== undefined) found = found.where('createdAt', '>=', $.from)
  if ($.to !== undefined) found = found.where('createdAt', '<', $.to)
  if ($.createdBefore === undefined) return found
  return found.where(raw<boolean>`(created_at, id) < (${$.createdBefore}::timestamptz, ${$.idBefore}::uuid)`)
})

const newest = query({ actorFence }, (db, $: { key: string }) =>
  db.selectNoFrom((e) => [
    e.fn.coalesce(e.selectFrom('actorFence').select('seq').where('key', '=', $.key), e.lit(0)).as('seq'),
    generation.as('generation'),
  ]),
)

const eventsInRange = query({ workspaceEvents }, (db, $: EventRange) =>
  db
    .selectFrom('workspaceEvents')
    .select(['seq', 'type', 'data', 'at'])
    .select(raw<boolean>`(channel_id is not null or user_id is not null)`.as('personal'))
    .where('workspaceId', '=', $.workspaceId)
    .where('seq', '>', $.after)
    .where('seq', '<=', $.until)
    .where(raw<boolean>`type = any(${$.types}::text[])`)
    .where(raw<boolean>`(channel_id is null or channel_id = any(${$.channels}::uuid[]))`)
    .where((e) => e.or([e('userId', 'is', null), e('userId', '=', $.userId)]))
    .orderBy('seq')
    .limit($.limit),
)

interface Old {
  readonly workspaceIds: readonly string[]
  readonly before: Date
  /** Rows of each workspace. */
  readonly rows: number
}

function workspacesOf($: Old) {
  return raw<{ id: string }>`unnest(${$.workspaceIds}::uuid[])`.as<'w'>(raw`w (id)`)
}

// Both delete by the places of the rows. A join could read the whole table, because its plan does not depend on how many
// rows are deleted.

/** Numbers are in the order of times, so only the oldest events of a workspace are looked at. */
const pruneEvents = query({ workspaceEvents }, (db, $: Old) => {
  const old = db
    .selectFrom(workspacesOf($))
    .crossJoinLateral((e) =>
      e
        .selectFrom('workspaceEvents as one')
        .select([raw`one.ctid`.as('place'), 'one.at'])
        .whereRef('one.workspaceId', '=', 'w.id')
        .orderBy('one.seq')
        .limit($.rows)
        .as('oldest'),
    )
    .select('oldest.place')
    .where('oldest.at', '<', raw<string>`${$.before}`)
  return db.deleteFrom('workspaceEvents').where(raw<boolean>`ctid = any(array(${old}))`)
})

const pruneAudit = query({ auditLog }, (db, $: Old) => {
  const old = db
    .selectFrom(workspacesOf($))
    .crossJoinLateral((e) =>
      e
        .selectFrom('auditLog as one')
        .select(raw`one.ctid`.as('place'))
        .whereRef('one.workspaceId', '=', 'w.id')
        .where('one.createdAt', '<', raw<string>`${$.before}`)
        .orderBy('one.createdAt')
        .orderBy('one.id')
        .limit($.rows)
        .as('old'),
    )
    .select('old.place')
  return db.deleteFrom('auditLog').where(raw<boolean>`ctid = any(array(${old}))`)
})

/** Later than every row. */
const FAR = new Date('9999-12-31T00:00:00Z')

/** The logs of workspaces in PostgreSQL. */
export const workspaceLogs: WorkspaceLogs = {
  auditPage: (sql, workspaceId, filter, { after, limit }) =>
    auditPage.rows(sql, {
      workspaceId,
      actorId: values(filter.actorId),
      action: values(filter.action),
      from: filter.from?.toISOString(),
      to: filter.to?.toISOString(),
      createdBefore: after?.createdAt,
      idBefore: after?.id,
      limit: limit + 1,
    }),

  async recordAudit(sql, entry: NewAuditRecord) {
    const { action, at, caller, details, origin, target, workspaceId } = entry
    const { remoteAddress, requestId, userAgent } = origin
    const user = caller === 'guest' ? undefined : caller
    await auditLog.insert(sql, {
      id: uuidv7(at.getTime()),
      workspaceId,
      actorId: user?.userId,
      actorVia: user?.via ?? 'guest',
      apiKeyId: user?.apiKey?.id,
      action,
      targetKind: target.kind,
      targetId: target.id,
      details,
      remoteAddress,
      userAgent,
      requestId,
      createdAt: at,
    })
  },

  events: (sql, range): Promise<LoggedEvent[]> => eventsInRange.rows(sql, range),

  async newestEvent(sql, workspaceId) {
    const row = await actorFence.first(sql, { key: actorOf(workspaceId) }, { columns: ['seq'] })
    return row?.seq ?? 0
  },

  async newestPosition(sql, workspaceId) {
    const row = await newest.row(sql, { key: actorOf(workspaceId) })
    if (row === undefined) throw new Error('the newest position returned no row')
    return row
  },

  async newestEvents(sql, workspaceIds) {
    const where = { key: anyOf(workspaceIds.map(actorOf)) }
    const rows = await actorFence.find(sql, where, { columns: ['key', 'seq'] })
    return new Map(rows.map(({ key, seq }) => [workspaceOf(key), seq]))
  },

  async oldestEvent(sql, workspaceId) {
    const row = await workspaceEvents.first(sql, { workspaceId }, { columns: ['seq'], orderBy: ['seq asc'] })
    return row?.seq
  },

  pruneEvents: (sql, workspaceIds, before, rows) => pruneEvents.run(sql, { workspaceIds, before, rows }),
  pruneAudit: (sql, workspaceIds, before, rows) => pruneAudit.run(sql, { workspaceIds, before, rows }),

  async clear(sql, workspaceId, signal = new AbortController().signal) {
    const all = { workspaceIds: [workspaceId], before: FAR }
    await inSharedBatches(1, (rows) => pruneEvents.run(sql, { ...all, rows }), signal)
    await inSharedBatches(1, (rows) => pruneAudit.run(sql, { ...all, rows }), signal)
  },

  // Without foreign keys, because their check would take a lock on the workspace's row with every batch of turns.
  async forget(sql, workspaceIds) {
    await workspaceEvents.delete(sql, { workspaceId: anyOf(workspaceIds) })
    await auditLog.delete(sql, { workspaceId: anyOf(workspaceIds) })
    await actorFence.delete(sql, { key: anyOf(workspaceIds.map(actorOf)) })
  },
}

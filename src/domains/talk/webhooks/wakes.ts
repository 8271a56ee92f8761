import { sql } from 'kysely'
import { NoticeCache } from '../../../coordination/notice-cache.ts'
import type { WorkspaceEvent } from '../../../core/event.ts'
import { Provided } from '../../../core/provided.ts'
import { query } from '../../../db/query.ts'
import type { Foundation } from '../../../foundation.ts'
import { deliverWebhook, retryWebhook } from './jobs.ts'
import type { ServedEndpoints } from './served.ts'
import { webhookDeliveries, webhooks } from './tables.ts'

/** Events of this time are handled together. */
const GATHER_MS = 10
/** Notices of new events, by workspace, and of retries and replays that are due, by endpoint. */
const EVENTS = 'webhook-events:'
const DUE = 'webhook-due:'
/** Endpoints that a sweep reads at once. */
const PAGE = 500
/** Sorts before every id. */
const FIRST = '00000000-0000-0000-0000-000000000000'

interface Idle {
  readonly id: string
  readonly workspaceId: string
  readonly cursor: number
  readonly slow: boolean
  /** Whether a retry or a replay is due. The job that was to send it may have ended without having sent it. */
  readonly due: boolean
}

interface Wanted {
  readonly now: string
  readonly id?: string
  readonly workspaceIds?: readonly string[]
  /** The last id of the page before. With it, one page is read in the order of ids. */
  readonly after?: string
}

/** Endpoints to which nobody sends now. An endpoint that somebody sends to looks for new events itself. */
const idleEndpoints = query({ webhookDeliveries, webhooks }, (db, $: Wanted) => {
  let found = db
    .selectFrom('webhooks as w')
    .select((e) => {
      const due = e
        .selectFrom('webhookDeliveries as d')
        .select('d.id')
        .whereRef('d.webhookId', '=', 'w.id')
        // A literal, so that the index of pending deliveries serves it.
        .where('d.status', '=', sql.lit('pending'))
        .where('d.kind', '<>', 'test')
        .where('d.nextAttemptAt', '<=', $.now)
      return ['w.id', 'w.workspaceId', 'w.cursor', 'w.slow', e.exists(due).$castTo<boolean>().as('due')]
    })
    .where('w.status', '=', 'enabled')
    .where((e) => e.or([e('w.leaseUntil', 'is', null), e('w.leaseUntil', '<', $.now)]))
    .where((e) => e.or([e('w.blockedUntil', 'is', null), e('w.blockedUntil', '<=', $.now)]))
  if ($.id !== undefined) found = found.where('w.id', '=', $.id)
  if ($.workspaceIds !== undefined) found = found.where('w.workspaceId', '=', sql<string>`any(${$.workspaceIds})`)
  if ($.after !== undefined) found = found.where('w.id', '>', $.after).orderBy('w.id').limit(sql.lit(PAGE))
  return found
})

interface Parts {
  readonly served: ServedEndpoints
  /** Whether the service is switched on. */
  readonly isOn: () => boolean
}

/** Begins to serve endpoints. @returns those that it has no room for */
type Starter = (ids: readonly string[]) => Promise<readonly string[]>

/**
 * Starts the delivery to endpoints that are behind the events of their workspace, or have a retry or replay due. Those
 * that a node serves already hear of it by a notice. Nodes with the role `jobs` begin to serve others themselves, as far
 * as they have room; otherwise a job does it.
 */
export class Wakes {
  /** Provided after the deliverer was built. */
  readonly starter = new Provided<Starter>('the start of deliveries')
  readonly #foundation: Foundation
  readonly #parts: Parts
  /** The enabled webhooks of a workspace. */
  readonly #known: NoticeCache<readonly string[]>
  /** The newest event of each workspace with new events. */
  readonly #changed = new Map<string, number>()
  readonly #ends: (() => void)[]
  #timer: NodeJS.Timeout | undefined
  #flushing: Promise<void> = Promise.resolve()

  constructor(foundation: Foundation, parts: Parts) {
    const { clock, coordination, database, onPublished } = foundation
    this.#foundation = foundation
    this.#parts = parts
    this.#known = new NoticeCache({
      name: 'webhooks',
      coordination,
      clock,
      load: async (workspaceId) => {
        const rows = await webhooks.find(database, { workspaceId, status: 'enabled' }, { columns: ['id'] })
        return rows.map(({ id }) => id)
      },
    })
    const { served } = parts
    this.#ends = [
      this.#known.onInvalidated((workspaceId) => served.changed(workspaceId)),
      coordination.subscribe(`${EVENTS}*`, (message, channel) => {
        served.hear(channel.slice(EVENTS.length), (message as { readonly newest: number }).newest)
      }),
      coordination.subscribe(`${DUE}*`, (_message, channel) => void served.nudge(channel.slice(DUE.length))),
    ]
    onPublished((workspaceId, events) => this.#published(workspaceId, events))
  }

  /** A webhook was created, changed or deleted. To be called after the commit. */
  changed(workspaceId: string): void {
    this.#known.invalidate(workspaceId)
  }

  /** Tells the node that serves an endpoint that a retry or replay is due. */
  nudge(id: string): void {
    if (!this.#parts.served.nudge(id)) this.#foundation.coordination.publish(DUE + id, {})
  }

  /** Starts the delivery to an endpoint if it has something to get and no node serves it. */
  async wakeOne(id: string): Promise<void> {
    await this.#start(await this.#idle({ id }))
  }

  /** The same for each endpoint of the workspaces. */
  async wake(workspaceIds: readonly string[]): Promise<void> {
    await this.#start(await this.#idle({ workspaceIds }))
  }

  /** The same for all workspaces, for events whose node has died before it could wake anybody. */
  async sweep(signal: AbortSignal): Promise<void> {
    for (let last = FIRST; !signal.aborted;) {
      const page = await this.#idle({ after: last })
      await this.#start(page)
      last = page.at(-1)?.id ?? FIRST
      if (page.length < PAGE) break
    }
  }

  async close(): Promise<void> {
    clearTimeout(this.#timer)
    for (const end of this.#ends) end()
    this.#known.close()
    await this.#flushing
  }

  #idle(wanted: Omit<Wanted, 'now'>): Promise<Idle[]> {
    const { clock, database } = this.#foundation
    return idleEndpoints.rows(database, { now: new Date(clock.now()).toISOString(), ...wanted })
  }

  #published(workspaceId: string, events: readonly WorkspaceEvent[]): void {
    const newest = Math.max(0, ...events.map(({ seq }) => seq))
    if (newest === 0) return
    this.#changed.set(workspaceId, Math.max(newest, this.#changed.get(workspaceId) ?? 0))
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined
      this.#flushing = this.#flushing.then(() => this.#flush())
    }, GATHER_MS)
  }

  async #flush(): Promise<void> {
    const changed = [...this.#changed]
    this.#changed.clear()
    try {
      const known = await Promise.all(changed.map(async ([workspaceId]) => this.#known.find(workspaceId)))
      const idle: string[] = []
      for (const [index, [workspaceId, newest]] of changed.entries()) {
        const ids = known[index] ?? []
        if (ids.length === 0) continue
        this.#foundation.coordination.publish(EVENTS + workspaceId, { newest })
        if (!ids.every((id) => this.#parts.served.has(id))) idle.push(workspaceId)
      }
      if (idle.length > 0) await this.wake(idle)
    } catch (error) {
      // The next sweep finds these endpoints.
      this.#foundation.log.warn({ error }, 'webhooks could not be woken')
    }
  }

  async #start(idle: readonly Idle[]): Promise<void> {
    if (idle.length === 0) return
    const { config, database, jobs, logs } = this.#foundation
    const newest = await logs.newestEvents(database, [...new Set(idle.map(({ workspaceId }) => workspaceId))])
    const behind = idle.filter(({ cursor, due, workspaceId }) => due || cursor < (newest.get(workspaceId) ?? 0))
    if (behind.length === 0) return
    const ids = behind.map(({ id }) => id)
    // Jobs of a service that is switched off wait until it is on again.
    const startsHere = config.ROLES.has('jobs') && this.#parts.isOn()
    const left = new Set(startsHere ? await this.starter.get()(ids) : ids)
    if (left.size === 0) return
    await database.transaction(async (tx) => {
      for (const { id, slow, workspaceId } of behind) {
        if (!left.has(id)) continue
        await jobs.add(tx, slow ? retryWebhook : deliverWebhook, { webhookId: id }, { key: id, workspaceId })
      }
    })
  }
}

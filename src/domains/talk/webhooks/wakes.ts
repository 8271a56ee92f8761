import { NoticeCache } from '../../../coordination/notice-cache.ts'
import type { WorkspaceEvent } from '../../../core/event.ts'
import type { Foundation } from '../../../foundation.ts'
import { deliverWebhook, retryWebhook } from './jobs.ts'
import { webhooks } from './tables.ts'

/** Events of this time are handled together. */
const GATHER_MS = 10
/** Endpoints that a sweep reads at once. */
const PAGE = 500
/** Less than every id. */
const FIRST = '00000000-0000-0000-0000-000000000000'

interface Idle {
  readonly id: string
  readonly workspaceId: string
  readonly cursor: number
  readonly slow: boolean
  /** Whether a retry or a replay is due. The job that was to send it may have ended without having sent it. */
  readonly due: boolean
}

// Written by hand: the conditions have an `or`. An endpoint that somebody sends to looks for new events itself.
const IDLE = `select id, workspace_id as "workspaceId", cursor, slow, exists (
    select 1 from webhook_deliveries d
    where d.webhook_id = webhooks.id and d.status = 'pending' and d.kind <> 'test' and d.next_attempt_at <= $1
  ) as due from webhooks
  where status = 'enabled'
    and (lease_until is null or lease_until < $1) and (blocked_until is null or blocked_until <= $1)`
const IDLE_IN = `${IDLE} and workspace_id = any($2::uuid[])`
const IDLE_ONE = `${IDLE} and id = $2`
const IDLE_AFTER = `${IDLE} and id > $2 order by id limit ${PAGE}`

/** Starts the delivery to endpoints that are behind the events of their workspace, or have a retry or replay due. */
export class Wakes {
  readonly #foundation: Foundation
  /** Whether a workspace has enabled webhooks. */
  readonly #known: NoticeCache<boolean>
  readonly #changed = new Set<string>()
  #timer: NodeJS.Timeout | undefined
  #flushing: Promise<void> = Promise.resolve()

  constructor(foundation: Foundation) {
    const { clock, coordination, database, onPublished } = foundation
    this.#foundation = foundation
    this.#known = new NoticeCache({
      name: 'webhooks',
      coordination,
      clock,
      load: (workspaceId) => webhooks.exists(database, { workspaceId, status: 'enabled' }),
    })
    onPublished((workspaceId, events) => this.#published(workspaceId, events))
  }

  /** A webhook was created, enabled, disabled or deleted. To be called after the commit. */
  changed(workspaceId: string): void {
    this.#known.invalidate(workspaceId)
  }

  /** Adds a job for an endpoint if it has something to get and gets nothing at the moment. */
  async wakeOne(id: string): Promise<void> {
    const now = new Date(this.#foundation.clock.now())
    await this.#start(await this.#foundation.database.rows<Idle>(IDLE_ONE, [now, id]))
  }

  /** The same for each endpoint of the workspaces. */
  async wake(workspaceIds: readonly string[]): Promise<void> {
    const now = new Date(this.#foundation.clock.now())
    await this.#start(await this.#foundation.database.rows<Idle>(IDLE_IN, [now, workspaceIds]))
  }

  /** The same for all workspaces, for events whose node has died before it could wake anybody. */
  async sweep(signal: AbortSignal): Promise<void> {
    const now = new Date(this.#foundation.clock.now())
    for (let last = FIRST; !signal.aborted;) {
      const page = await this.#foundation.database.rows<Idle>(IDLE_AFTER, [now, last])
      await this.#start(page)
      last = page.at(-1)?.id ?? FIRST
      if (page.length < PAGE) break
    }
  }

  async close(): Promise<void> {
    clearTimeout(this.#timer)
    this.#known.close()
    await this.#flushing
  }

  #published(workspaceId: string, events: readonly WorkspaceEvent[]): void {
    if (!events.some(({ seq }) => seq > 0)) return
    this.#changed.add(workspaceId)
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined
      this.#flushing = this.#flushing.then(() => this.#flush())
    }, GATHER_MS)
  }

  async #flush(): Promise<void> {
    const changed = [...this.#changed]
    this.#changed.clear()
    try {
      const known = await Promise.all(changed.map(async (workspaceId) => this.#known.find(workspaceId)))
      const hooked = changed.filter((_id, index) => known[index] === true)
      if (hooked.length > 0) await this.wake(hooked)
    } catch (error) {
      // The next sweep finds these endpoints.
      this.#foundation.log.warn({ error }, 'webhooks could not be woken')
    }
  }

  async #start(idle: readonly Idle[]): Promise<void> {
    if (idle.length === 0) return
    const { database, jobs, logs } = this.#foundation
    const newest = await logs.newestEvents(database, [...new Set(idle.map(({ workspaceId }) => workspaceId))])
    const behind = idle.filter(({ cursor, due, workspaceId }) => due || cursor < (newest.get(workspaceId) ?? 0))
    if (behind.length === 0) return
    await database.transaction(async (tx) => {
      for (const { id, slow, workspaceId } of behind) {
        await jobs.add(tx, slow ? retryWebhook : deliverWebhook, { webhookId: id }, { key: id, workspaceId })
      }
    })
  }
}

import { sql as raw } from 'kysely'
import { SECOND } from '../../../core/clock.ts'
import type { Sql } from '../../../core/sql.ts'
import type { ViewedResource, Viewing, ViewingSocket } from '../../../core/viewing.ts'
import { anyOf, greaterThan, lessThan } from '../../../db/condition.ts'
import { query } from '../../../db/query.ts'
import type { Foundation } from '../../../foundation.ts'
import { userScreens } from './tables.ts'

/** Sockets of a user that are looked at. */
const MAX_SOCKETS = 100
/** How often changes are written. Only the last one of a socket is. */
const WRITE_MS = 300
/** Rows of a node that has died expire. */
const KEEP_MS = 60 * SECOND
const REFRESH_MS = 20 * SECOND

interface Shown {
  readonly sockets: readonly string[]
  readonly users: readonly string[]
  /** The keys of what each socket shows, with spaces. */
  readonly keys: readonly string[]
  readonly until: Date
}

/** One statement for all sockets. */
const saveScreens = query({ userScreens }, (db, $: Shown) =>
  db
    .insertInto('userScreens')
    .columns(['socketId', 'userId', 'resources', 'until'])
    .expression(
      db
        .selectFrom(
          raw<{ id: string; userId: string; keys: string }>`
            unnest(${$.sockets}::text[], ${$.users}::uuid[], ${$.keys}::text[])`.as<'v'>(raw`v (id, user_id, keys)`),
        )
        .select((e) => [
          'v.id',
          'v.userId',
          e.fn<string[]>('string_to_array', ['v.keys', raw.lit(' ')]).as('resources'),
          raw<string>`${$.until}::timestamptz`.as('until'),
        ]),
    )
    .onConflict((conflict) =>
      conflict
        .column('socketId')
        .doUpdateSet((e) => ({ resources: e.ref('excluded.resources'), until: e.ref('excluded.until') })),
    ),
)

/** Removes these sockets, and those of nodes that have died. */
const removeScreens = query({ userScreens }, (db, $: { sockets: readonly string[]; now: string }) =>
  db
    .deleteFrom('userScreens')
    .where((e) => e.or([e('socketId', '=', raw<string>`any(${$.sockets})`), e('until', '<', $.now)])),
)

/** What users have on their screens, as their clients report it. It is lost with its socket. */
export class Screens implements Viewing {
  readonly #foundation: Pick<Foundation, 'clock' | 'database' | 'log'>
  /** The sockets of this node that view something, with the keys of what they view. */
  readonly #shown = new Map<string, string>()
  /** Sockets whose row is to be written. */
  #changed = new Map<string, string>()
  #writing: Promise<void> = Promise.resolve()
  readonly #timers: NodeJS.Timeout[]

  constructor(foundation: Pick<Foundation, 'clock' | 'database' | 'log'>) {
    this.#foundation = foundation
    this.#timers = [
      setInterval(() => this.#write(), WRITE_MS).unref(),
      setInterval(() => this.#queue(() => this.#refresh()), REFRESH_MS).unref(),
    ]
  }

  /** What a socket shows now. Nothing, while its user is away. */
  show(socket: ViewingSocket, resources: readonly ViewedResource[]): void {
    socket.data.viewing = resources
    this.update(socket)
  }

  /** Reads again what a socket shows, after its user has come or gone. */
  update({ data, id }: ViewingSocket): void {
    const shown = data.isAway ? [] : (data.viewing ?? [])
    const keys = shown.map(keyOf).join(' ')
    if (keys === (this.#shown.get(id) ?? '')) return
    if (keys === '') this.#shown.delete(id)
    else this.#shown.set(id, keys)
    this.#changed.set(id, data.caller.userId)
  }

  /** The socket has closed. */
  leave({ data, id }: ViewingSocket): void {
    if (this.#shown.delete(id)) this.#changed.set(id, data.caller.userId)
  }

  async close(): Promise<void> {
    for (const timer of this.#timers) clearInterval(timer)
    for (const id of this.#shown.keys()) this.#changed.set(id, '')
    this.#shown.clear()
    this.#write()
    await this.#writing
  }

  #write(): void {
    if (this.#changed.size === 0) return
    const changed = this.#changed
    this.#changed = new Map()
    this.#queue(() => this.#save(changed))
  }

  /** One statement after the other, so that an older one never replaces a newer one. */
  #queue(work: () => Promise<void>): void {
    this.#writing = this.#writing.then(work).catch((error: unknown) => {
      // Not essential: at worst somebody is notified of what they see.
      this.#foundation.log.warn({ error }, 'could not write what users view')
    })
  }

  async #save(changed: ReadonlyMap<string, string>): Promise<void> {
    const now = this.#foundation.clock.now()
    const ids = [...changed.keys()].toSorted()
    const shown = ids.filter((id) => this.#shown.has(id))
    const gone = ids.filter((id) => !this.#shown.has(id))
    const { database } = this.#foundation
    if (gone.length > 0) await removeScreens.run(database, { sockets: gone, now: new Date(now).toISOString() })
    if (shown.length === 0) return
    await saveScreens.run(database, {
      sockets: shown,
      users: shown.map((id) => changed.get(id) ?? ''),
      keys: shown.map((id) => this.#shown.get(id) ?? ''),
      until: new Date(now + KEEP_MS),
    })
  }

  async #refresh(): Promise<void> {
    const { clock, database } = this.#foundation
    const now = clock.now()
    const ids = [...this.#shown.keys()].toSorted()
    if (ids.length > 0) await userScreens.update(database, { socketId: anyOf(ids) }, { until: new Date(now + KEEP_MS) })
    await userScreens.delete(database, { until: lessThan(new Date(now)) })
  }
}

/** Whether a user has this on one of their screens. */
export async function isViewing(sql: Sql, userId: string, resource: ViewedResource, now: number): Promise<boolean> {
  const rows = await userScreens.find(sql, { userId, until: greaterThan(new Date(now)) }, { limit: MAX_SOCKETS })
  return rows.some(({ resources }) => resources.includes(keyOf(resource)))
}

function keyOf({ kind, resourceId }: ViewedResource): string {
  return `${kind}:${resourceId}`
}

import type { Clock } from '../../../core/clock.ts'
import { Conflict, NotFound } from '../../../core/errors.ts'
import type { Logger } from '../../../core/log.ts'
import { ALWAYS_ON, type ServiceStatus, type WatchedSwitches } from '../../../core/service-switch.ts'
import type { Sql } from '../../../core/sql.ts'
import type { Coordination } from '../../../coordination/coordination.ts'
import type { Foundation } from '../../../foundation.ts'
import type { Row } from '../../../db/row.ts'
import { serviceSwitches, type ServiceSwitch } from './tables.ts'

const CHANNEL = 'services'
/** How often a node reads the switches, in case it has missed a notice. Every node applies a change within a second. */
const REFRESH_MS = 750

/** Services, and whether they are switched on. The switches are stored in the database, and every node caches them. */
export class ServiceSwitches implements WatchedSwitches {
  readonly #sql: Sql
  readonly #clock: Clock
  readonly #coordination: Coordination
  readonly #log: Logger
  readonly #keys: ReadonlySet<string>
  readonly #names: readonly string[]
  readonly #rows = new Map<string, Row<typeof ServiceSwitch>>()
  readonly #timer: NodeJS.Timeout
  readonly #unsubscribe: () => void
  readonly #listeners = new Set<(changed: ServiceStatus) => void>()
  #reading: Promise<void> | undefined
  #next: Promise<void> | undefined

  /** @param keys the names of all services, which are the domains of the operations */
  constructor(
    { clock, coordination, database, log }: Pick<Foundation, 'clock' | 'coordination' | 'database' | 'log'>,
    keys: Iterable<string>,
  ) {
    this.#keys = new Set(keys)
    this.#names = [...this.#keys].sort()
    this.#sql = database
    this.#clock = clock
    this.#coordination = coordination
    this.#log = log
    const refresh = () =>
      void this.refresh().catch((error: unknown) => this.#log.warn({ error }, 'service switches could not be read'))
    this.#unsubscribe = coordination.subscribe(CHANNEL, refresh)
    this.#timer = setInterval(refresh, REFRESH_MS).unref()
  }

  isOn(service: string): boolean {
    return this.#rows.get(service)?.enabled ?? true
  }

  off(): ServiceStatus[] {
    return this.status().filter(({ enabled }) => !enabled)
  }

  onChange(listener: (changed: ServiceStatus) => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  /**
   * Reads the switches from the database. Reads follow each other, so that an older one never replaces a newer one. A call
   * during a read shares the next one with others.
   */
  refresh(): Promise<void> {
    if (this.#reading === undefined) {
      this.#reading = this.#read().finally(() => (this.#reading = undefined))
      return this.#reading
    }
    this.#next ??= this.#reading
      .catch(() => undefined)
      .then(() => {
        this.#next = undefined
        return this.refresh()
      })
    return this.#next
  }

  names(): string[] {
    return [...this.#names]
  }

  status(): ServiceStatus[] {
    return this.names().map((key) => this.#view(key))
  }

  /** @throws AppError not_found */
  statusOf(key: string): ServiceStatus {
    if (!this.#keys.has(key))
      throw NotFound({ message: `There is no service called ${key}. GET /api/services lists all services.` })
    return this.#view(key)
  }

  /**
   * Switches a service on or off. Without `enabled` it is toggled.
   * @throws AppError not_found; conflict for a service that must stay on
   */
  async toggle(key: string, enabled: boolean | undefined): Promise<void> {
    const now = this.statusOf(key).enabled
    const next = enabled ?? !now
    if (!next && ALWAYS_ON.has(key)) {
      throw Conflict({
        message: `The service ${key} cannot be switched off, because no service could be switched on again without it. Leave it on.`,
      })
    }
    await serviceSwitches.upsert(this.#sql, { key, enabled: next, updatedAt: new Date(this.#clock.now()) }, ['key'])
    await this.refresh()
    this.#coordination.publish(CHANNEL, { key, enabled: next })
  }

  close(): void {
    clearInterval(this.#timer)
    this.#unsubscribe()
  }

  async #read(): Promise<void> {
    const changed: string[] = []
    const rows = new Map((await serviceSwitches.find(this.#sql, {})).map((row) => [row.key, row]))
    // Rows are never deleted, but another database may have taken over that does not have one.
    for (const key of new Set([...this.#rows.keys(), ...rows.keys()])) {
      const row = rows.get(key)
      if ((row?.enabled ?? true) !== this.isOn(key)) changed.push(key)
      if (row === undefined) this.#rows.delete(key)
      else this.#rows.set(key, row)
    }
    for (const key of changed) {
      this.#log.info({ service: key, enabled: this.isOn(key) }, 'a service was switched')
      for (const listener of this.#listeners) listener(this.#view(key))
    }
  }

  #view(key: string): ServiceStatus {
    const row = this.#rows.get(key)
    const enabled = row?.enabled ?? true
    return { key, enabled, status: enabled ? 'operational' : 'disabled', updatedAt: row?.updatedAt ?? null }
  }
}

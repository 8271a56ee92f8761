import type { Static } from 'typebox'
import type { Clock } from '../../../core/clock.ts'
import { Conflict, NotFound } from '../../../core/errors.ts'
import type { Logger } from '../../../core/log.ts'
import type { Switches } from '../../../core/ports.ts'
import type { Sql } from '../../../core/sql.ts'
import type { Coordination } from '../../../coordination/coordination.ts'
import type { Foundation } from '../../../foundation.ts'
import type { Row } from '../../../db/row.ts'
import type { ServiceStatus } from './schemas.ts'
import { serviceSwitches, type ServiceSwitch } from './tables.ts'

/** Services that cannot be switched off, because switching one on again needs them. */
const ALWAYS_ON = ['auth', 'services', 'health']
const CHANNEL = 'services'
/** How often a node reads the switches, in case it has missed a notice. */
const REFRESH_MS = 1_000

/** Services, and whether they are switched on. The switches are stored in the database, and every node caches them. */
export class ServiceSwitches implements Switches {
  readonly #sql: Sql
  readonly #clock: Clock
  readonly #coordination: Coordination
  readonly #log: Logger
  readonly #keys: ReadonlySet<string>
  readonly #names: readonly string[]
  readonly #rows = new Map<string, Row<typeof ServiceSwitch>>()
  readonly #timer: NodeJS.Timeout
  readonly #unsubscribe: () => void

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

  /** Reads the switches from the database. */
  async refresh(): Promise<void> {
    for (const row of await serviceSwitches.find(this.#sql, {})) this.#rows.set(row.key, row)
  }

  names(): string[] {
    return [...this.#names]
  }

  status(): Static<typeof ServiceStatus>[] {
    return this.names().map((key) => this.#view(key))
  }

  /** @throws AppError not_found */
  statusOf(key: string): Static<typeof ServiceStatus> {
    if (!this.#keys.has(key)) throw NotFound({ message: `There is no service called ${key}.` })
    return this.#view(key)
  }

  /**
   * Switches a service on or off. Without `enabled` it is toggled.
   * @throws AppError not_found; conflict for a service that must stay on
   */
  async toggle(key: string, enabled: boolean | undefined): Promise<void> {
    const now = this.statusOf(key).enabled
    const next = enabled ?? !now
    if (!next && ALWAYS_ON.includes(key)) throw Conflict({ message: `The service ${key} must stay on.` })
    await serviceSwitches.upsert(this.#sql, { key, enabled: next, updatedAt: new Date(this.#clock.now()) }, ['key'])
    await this.refresh()
    this.#coordination.publish(CHANNEL, { key, enabled: next })
  }

  close(): void {
    clearInterval(this.#timer)
    this.#unsubscribe()
  }

  #view(key: string): Static<typeof ServiceStatus> {
    const row = this.#rows.get(key)
    const enabled = row?.enabled ?? true
    return { key, enabled, status: enabled ? 'operational' : 'disabled', updatedAt: row?.updatedAt ?? null }
  }
}

import { MINUTE } from '../../../core/clock.ts'
import type { Foundation } from '../../../foundation.ts'
import { checkpoint, monthOf, usedByOwners, type UsageRow } from '../streams/index.ts'

/** The owner and session that the minutes of a stream count for. */
export interface Charge {
  readonly sessionId: string
  readonly workspaceId: string
  readonly ownerId: string
}

interface Metered {
  readonly ingestId: string
  readonly streamId: string
  /** Undefined until the session is known, a moment after the first frame. It does not change afterwards. */
  charge: Charge | undefined
  month: string
  /** Milliseconds that belong to earlier months. */
  before: number
  liveMs: number
  written: number
  ended: boolean
}

export interface Metering {
  readonly streamId: string
  readonly charge: Charge
}

type Dependencies = Pick<Foundation, 'clock' | 'database' | 'log'> & {
  /** The monthly limit of an owner in minutes. */
  readonly minutesOf: (ownerId: string) => Promise<number>
  readonly onUsedUp: (stream: Metering) => void
  readonly onRunningOut: (stream: Metering, minutesLeft: number) => void
}

/** How long figures of a dropped stream can still arrive. */
const LEAVE_MS = 10_000

/** Minutes left at which a warning is given. */
const WARNINGS = [1, 5]

/**
 * Counts the milliseconds that the media node reports for the plans of owners, per calendar month (UTC). Counts are
 * totals per publisher, so late or repeated writes charge nothing twice.
 */
export class UsageMeter {
  readonly #dependencies: Dependencies
  readonly #charges = new Map<string, Charge>()
  readonly #metered = new Map<string, Metered>()
  /** Streams that the media process no longer has, with the time of their removal. */
  readonly #leaving = new Map<string, number>()
  /** Counts of past months that are not yet written. */
  #closedRows: UsageRow[] = []
  #ticking: Promise<void> | undefined

  constructor(dependencies: Dependencies) {
    this.#dependencies = dependencies
  }

  /** Sets the session that the next publishers of a stream count for. Undefined while there is none. */
  setCharge(streamId: string, charge: Charge | undefined): void {
    this.#leaving.delete(streamId)
    if (charge) this.#charges.set(streamId, charge)
    else this.#charges.delete(streamId)
  }

  /** @param liveMs milliseconds since the publisher connected. It never decreases */
  record(streamId: string, ingestId: string, liveMs: number): void {
    const now = this.#dependencies.clock.now()
    const month = monthOf(now)
    let metered = this.#metered.get(ingestId)
    if (metered === undefined) {
      metered = { ingestId, streamId, charge: undefined, month, before: 0, liveMs: 0, written: 0, ended: false }
      this.#metered.set(ingestId, metered)
    }
    metered.charge ??= this.#charges.get(streamId)
    if (month !== metered.month) this.#closeMonth(metered, month, liveMs, now)
    metered.liveMs = Math.max(metered.liveMs, liveMs)
  }

  /** The publisher has disconnected, and its last figures have arrived. */
  end(ingestId: string): void {
    const metered = this.#metered.get(ingestId)
    if (metered) metered.ended = true
  }

  /** The media process has ended, and with it all publishers. */
  endAll(): void {
    for (const metered of this.#metered.values()) metered.ended = true
  }

  /** Forgets a stream after a delay, because its last figures can still arrive. */
  forget(streamId: string): void {
    this.#leaving.set(streamId, this.#dependencies.clock.monotonic())
  }

  /** Writes changed counts and enforces limits. Called about once a second. */
  tick(): Promise<void> {
    this.#ticking ??= this.#tick().finally(() => {
      this.#ticking = undefined
    })
    return this.#ticking
  }

  async #tick(): Promise<void> {
    const { clock, database: sql } = this.#dependencies
    const changed: { metered: Metered; liveMs: number }[] = []
    for (const metered of this.#metered.values()) {
      metered.charge ??= this.#charges.get(metered.streamId)
      if (metered.charge && metered.liveMs > metered.written) changed.push({ metered, liveMs: metered.liveMs })
    }
    const closed = this.#closedRows
    await checkpoint(sql, [...closed, ...changed.flatMap(({ metered }) => rowOf(metered, metered.liveMs))], clock.now())
    this.#closedRows = this.#closedRows.filter((row) => !closed.includes(row))
    for (const { metered, liveMs } of changed) metered.written = liveMs
    for (const [id, metered] of this.#metered) {
      if (metered.ended && metered.written >= metered.liveMs) this.#metered.delete(id)
    }
    for (const [streamId, since] of this.#leaving) {
      if (clock.monotonic() - since < LEAVE_MS) continue
      this.#leaving.delete(streamId)
      this.#charges.delete(streamId)
    }
    await this.#enforce(changed.map(({ metered }) => metered))
  }

  #closeMonth(metered: Metered, month: string, liveMs: number, now: number): void {
    const sinceMidnight = now - Date.parse(month)
    // The time since the last figure is split at the end of the month.
    const atTurn = Math.min(Math.max(liveMs - sinceMidnight, metered.liveMs), liveMs)
    this.#closedRows.push(...rowOf(metered, atTurn))
    metered.before = atTurn
    metered.month = month
  }

  async #enforce(active: readonly Metered[]): Promise<void> {
    const { clock, database: sql } = this.#dependencies
    const owners = [...new Set(active.flatMap(({ charge }) => charge?.ownerId ?? []))]
    if (owners.length === 0) return
    const used = await usedByOwners(sql, owners, monthOf(clock.now()))
    for (const row of used) {
      const left = (await this.#dependencies.minutesOf(row.ownerId)) * MINUTE - row.used
      const threshold = WARNINGS.find((minutes) => left <= minutes * MINUTE)
      if (threshold === undefined) continue
      for (const { streamId, charge, ended } of active) {
        if (charge?.ownerId !== row.ownerId || ended) continue
        if (left <= 0) this.#dependencies.onUsedUp({ streamId, charge })
        else this.#dependencies.onRunningOut({ streamId, charge }, threshold)
      }
    }
  }
}

function rowOf({ ingestId, streamId, charge, month, before }: Metered, liveMs: number): UsageRow[] {
  if (charge === undefined || liveMs <= before) return []
  return [
    {
      ingestId,
      month,
      sessionId: charge.sessionId,
      streamId,
      workspaceId: charge.workspaceId,
      ownerId: charge.ownerId,
      liveMs: liveMs - before,
    },
  ]
}

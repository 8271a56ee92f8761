import { DAY, type Clock } from '../../../core/clock.ts'
import { uuidv7 } from '../../../tools/id.ts'
import type { Sql } from '../../../core/sql.ts'
import { atMost, greaterThan } from '../../../db/condition.ts'
import { increment } from '../../../db/increment.ts'
import { query } from '../../../db/query.ts'
import type { Row } from '../../../db/row.ts'
import type { CreditMonth } from '../plans/index.ts'
import { CREDIT, creditsOf, houseAccount, type HouseKind } from './accounts.ts'
import type { Book } from './book.ts'
import { InsufficientCredits } from './errors.ts'
import { sum } from './rounding.ts'
import type { CreditBalanceData, EntryKind } from './schemas.ts'
import { creditHolds, creditLots, creditReservations, type LotSource } from './tables.ts'

/** Reads the month of a user's plan. The domain of plans provides it. */
export type MonthOf = (sql: Sql, userId: string) => Promise<CreditMonth>

export interface Grant {
  readonly userId: string
  readonly amount: number
  readonly source: LotSource
  /** The name of what happened. The same reference grants once. */
  readonly reference: string
  /** Null if the credits do not expire. */
  readonly expiresAt: Date | null
  readonly reason?: string
  readonly actorId?: string
}

export interface Reservation {
  readonly _id: string
  readonly userId: string
  readonly amount: number
  readonly status: 'open' | 'settled' | 'released'
  /** What was used of it, once it is settled. */
  readonly used: number | null
}

type Lot = Row<typeof creditLots.entity>
type ReservationRow = Row<typeof creditReservations.entity>

const GRANTED: Readonly<Record<LotSource, EntryKind>> = {
  plan: 'plan_credits',
  purchase: 'credit_purchase',
  gift: 'gift',
}
/** How long a reservation is kept if nobody settles or releases it. */
const HELD_MS = DAY
/** How many lots or reservations one run of a job ends. */
const BATCH = 500

/**
 * AI credits of users. They are granted in lots, which expire, and the lot that expires next is used first. Every method
 * that changes something locks the user's account first, and needs an open transaction.
 *
 * The credits of a plan are granted when they are first needed in a month. Until then they are only counted.
 */
export class Credits {
  readonly #book: Book
  readonly #clock: Clock
  readonly #monthOf: MonthOf

  constructor(book: Book, clock: Clock, monthOf: MonthOf) {
    this.#book = book
    this.#clock = clock
    this.#monthOf = monthOf
  }

  /** What a user can use now, what is reserved, and the lots, the next to expire first. */
  async balanceOf(sql: Sql, userId: string): Promise<CreditBalanceData> {
    const [lots, month] = await Promise.all([this.#openLots(sql, userId), this.#monthOf(sql, userId)])
    const missing = await this.#missing(sql, userId, month)
    const shown = lots.map(({ expiresAt, remaining, reserved, source }) => {
      return { remaining: remaining - reserved, source, expiresAt }
    })
    if (missing > 0) shown.push({ remaining: missing, source: 'plan', expiresAt: new Date(month.end).toISOString() })
    return {
      remaining: sum(shown.map(({ remaining }) => remaining)),
      reserved: sum(lots.map(({ reserved }) => reserved)),
      perMonth: month.perMonth,
      lots: shown.filter(({ remaining }) => remaining > 0).toSorted(byExpiry),
    }
  }

  /** What a user can use now. @param month of the user's plan, if the caller has read it */
  async remainingOf(sql: Sql, userId: string, month?: CreditMonth): Promise<number> {
    const [lots, missing] = await Promise.all([
      this.#openLots(sql, userId),
      this.#missing(sql, userId, month ?? (await this.#monthOf(sql, userId))),
    ])
    return sum([missing, ...lots.map(({ remaining, reserved }) => remaining - reserved)])
  }

  /** Grants credits. @returns whether they were granted now; false if the reference was granted before */
  async grant(sql: Sql, grant: Grant): Promise<boolean> {
    return this.#grant(sql, { ...grant, periodStart: null, from: 'credits_issued', kind: GRANTED[grant.source] })
  }

  /**
   * Reserves credits for work whose cost is known only at its end. The same reference reserves once, and returns the
   * first reservation. It is released after a day if it is not settled.
   * @throws AppError insufficient_credits
   */
  async reserve(sql: Sql, { amount, reference, userId }: ReservationRequest): Promise<Reservation> {
    if (!Number.isSafeInteger(amount) || amount <= 0) throw new RangeError(`${amount} credits cannot be reserved`)
    await this.#book.lock(sql, creditsOf(userId))
    const known = await creditReservations.first(sql, { reference })
    if (known !== undefined) return viewOf(known)
    const { hint } = await this.#grantMonth(sql, userId)
    const held = takeOldest(await this.#openLots(sql, userId), amount, hint)
    const now = this.#clock.now()
    const id = uuidv7(now)
    const heldUntil = new Date(now + HELD_MS)
    const row = { id, userId, reference, amount, status: 'open' as const, heldUntil, createdAt: new Date(now) }
    await Promise.all([
      creditReservations.insert(sql, row),
      creditHolds.insertAll(
        sql,
        held.map(({ lot, part }) => ({ reservationId: id, lotId: lot.id, amount: part })),
      ),
      ...held.map(({ lot, part }) => creditLots.update(sql, { id: lot.id }, { reserved: increment(part) })),
    ])
    return { _id: id, userId, amount, status: 'open', used: null }
  }

  /**
   * Uses up to the reserved number of credits and releases the rest. Repeating it has no effect.
   * @throws RangeError for more than was reserved; Error if the reservation was released or settled otherwise
   */
  async settle(sql: Sql, reservationId: string, used: number): Promise<Reservation> {
    const reservation = await this.#lockReservation(sql, reservationId)
    if (!Number.isSafeInteger(used) || used < 0 || used > reservation.amount) {
      throw new RangeError(`${used} credits of a reservation of ${reservation.amount} cannot be used`)
    }
    if (reservation.status === 'settled' && reservation.used === used) return viewOf(reservation)
    if (reservation.status !== 'open') throw new Error(`the reservation ${reservationId} is ${reservation.status}`)
    return this.#end(sql, reservation, 'settled', used)
  }

  /** Gives reserved credits back. A reservation that has ended stays as it is. */
  async release(sql: Sql, reservationId: string): Promise<Reservation> {
    const reservation = await this.#lockReservation(sql, reservationId)
    if (reservation.status !== 'open') return viewOf(reservation)
    return this.#end(sql, reservation, 'released', 0)
  }

  /** Adds or takes away credits for an administrator. @throws AppError insufficient_credits */
  async correct(sql: Sql, correction: CreditCorrection): Promise<void> {
    const { amount, userId } = correction
    if (amount > 0) {
      const kind = 'correction'
      await this.#grant(sql, { ...correction, source: 'gift', periodStart: null, from: 'adjustments', kind })
      return
    }
    await this.#book.lock(sql, creditsOf(userId))
    await this.#grantMonth(sql, userId)
    const taken = takeOldest(await this.#openLots(sql, userId), -amount)
    const posted = await this.#move(sql, correction, { kind: 'correction', to: 'adjustments', amount: -amount })
    if (posted.repeated) return
    for (const { lot, part } of taken) await creditLots.update(sql, { id: lot.id }, { remaining: increment(-part) })
  }

  /** Open reservations that nobody has ended in time, the oldest first. */
  async overdue(sql: Sql): Promise<string[]> {
    const where = { status: 'open', heldUntil: atMost(new Date(this.#clock.now())) } as const
    const rows = await creditReservations.find(sql, where, {
      columns: ['id'],
      orderBy: ['heldUntil asc'],
      limit: BATCH,
    })
    return rows.map(({ id }) => id)
  }

  /** Users with credits that have expired and are not reserved. */
  async withExpired(sql: Sql): Promise<string[]> {
    const now = new Date(this.#clock.now()).toISOString()
    const rows = await ownersOfExpired.rows(sql, { now, limit: BATCH })
    return rows.map(({ userId }) => userId)
  }

  /** Takes away what has expired of a user's credits and is not reserved. */
  async expire(sql: Sql, userId: string): Promise<void> {
    await this.#book.lock(sql, creditsOf(userId))
    const now = new Date(this.#clock.now())
    const lots = await creditLots.find(sql, { userId, remaining: greaterThan(0), expiresAt: atMost(now) })
    for (const { id, remaining, reserved } of lots) {
      const amount = remaining - reserved
      if (amount === 0) continue
      await creditLots.update(sql, { id }, { remaining: increment(-amount) })
      // Expiry lowers `remaining` to `reserved`, and `remaining` only falls. So each expiry of a lot has a different
      // reference.
      const reference = `credit-expiry:${id}:${reserved}`
      await this.#move(sql, { userId, reference }, { kind: 'credit_expiry', to: 'credits_expired', amount })
    }
  }

  async #end(
    sql: Sql,
    reservation: ReservationRow,
    status: 'settled' | 'released',
    used: number,
  ): Promise<Reservation> {
    const { id, userId } = reservation
    const holds = await creditHolds.find(sql, { reservationId: id })
    const lots = new Map(
      (await creditLots.find(sql, { userId, remaining: greaterThan(0) })).map((lot) => [lot.id, lot]),
    )
    const inOrder = holds
      .flatMap(({ amount, lotId }) => {
        const lot = lots.get(lotId)
        return lot === undefined ? [] : [{ ...lot, held: amount }]
      })
      .toSorted(byExpiry)
    let left = used
    for (const { held, id: lotId } of inOrder) {
      const part = Math.min(held, left)
      left -= part
      await creditLots.update(sql, { id: lotId }, { reserved: increment(-held), remaining: increment(-part) })
    }
    if (left > 0) throw new Error(`the lots of reservation ${id} hold ${left} credits less than it has reserved`)
    if (used > 0) {
      const move = { kind: 'credit_use', to: 'credits_used', amount: used } as const
      await this.#move(sql, { userId, reference: `credit-use:${id}` }, move)
    }
    const endedAt = new Date(this.#clock.now())
    await creditReservations.update(sql, { id }, { status, endedAt, ...(status === 'settled' && { used }) })
    return { ...viewOf(reservation), status, used: status === 'settled' ? used : null }
  }

  /** Locks the account before the reservation, as `reserve` does. */
  async #lockReservation(sql: Sql, id: string): Promise<ReservationRow> {
    const found = await creditReservations.first(sql, { id }, { columns: ['userId'] })
    if (found === undefined) throw new Error(`there is no reservation ${id}`)
    await this.#book.lock(sql, creditsOf(found.userId))
    const reservation = await creditReservations.first(sql, { id })
    if (reservation === undefined) throw new Error(`there is no reservation ${id}`)
    return reservation
  }

  /** Grants the credits of the current month, or what a better plan grants beyond those of the old one. */
  async #grantMonth(sql: Sql, userId: string): Promise<CreditMonth> {
    const month = await this.#monthOf(sql, userId)
    const amount = await this.#missing(sql, userId, month)
    if (amount <= 0) return month
    const periodStart = new Date(month.start)
    const reference = `plan-credits:${userId}:${periodStart.toISOString()}:${month.perMonth}`
    const [from, kind, source] = ['credits_issued', 'plan_credits', 'plan'] as const
    await this.#grant(sql, {
      userId,
      amount,
      source,
      reference,
      expiresAt: new Date(month.end),
      periodStart,
      from,
      kind,
    })
    return month
  }

  /**
   * Credits of the month that have not been granted yet. Its end names a month: one that is paid ahead of the end of a
   * trial begins later, after its credits were granted.
   */
  async #missing(sql: Sql, userId: string, { end, perMonth }: CreditMonth): Promise<number> {
    const where = { userId, source: 'plan', expiresAt: new Date(end) } as const
    const granted = await creditLots.find(sql, where, { columns: ['amount'] })
    return Math.max(0, perMonth - sum(granted.map(({ amount }) => amount)))
  }

  async #grant(sql: Sql, grant: LotGrant): Promise<boolean> {
    const { amount, expiresAt, from, kind, periodStart, source, userId } = grant
    if (!Number.isSafeInteger(amount) || amount <= 0) throw new RangeError(`${amount} credits cannot be granted`)
    await this.#book.lock(sql, creditsOf(userId))
    const posted = await this.#move(sql, grant, { kind, to: from, amount: -amount })
    if (posted.repeated) return false
    const now = this.#clock.now()
    const createdAt = new Date(now)
    const id = uuidv7(now)
    const lot = { id, userId, entryId: posted.entryId, source, periodStart, amount, remaining: amount, expiresAt }
    await creditLots.insert(sql, { ...lot, createdAt })
    return true
  }

  /** Posts an entry that moves credits of a user to an account of the house; a negative amount moves them back. */
  #move(sql: Sql, about: Reference, { amount, kind, to }: { kind: EntryKind; to: HouseKind; amount: number }) {
    const { actorId, reason, reference, userId } = about
    return this.#book.post(sql, {
      kind,
      reference,
      ...(reason !== undefined && { reason }),
      ...(actorId !== undefined && { actorId }),
      lines: [
        { account: creditsOf(userId), amount: -amount },
        { account: houseAccount(to, CREDIT), amount },
      ],
    })
  }

  /** Lots with credits that have not expired, the next to expire first. */
  async #openLots(sql: Sql, userId: string): Promise<Lot[]> {
    const now = this.#clock.now()
    const lots = await creditLots.find(sql, { userId, remaining: greaterThan(0) })
    return lots.filter(({ expiresAt }) => expiresAt === null || Date.parse(expiresAt) > now).toSorted(byExpiry)
  }
}

export interface ReservationRequest {
  readonly userId: string
  readonly amount: number
  /** The name of the work, such as `ai-job:<id>`. */
  readonly reference: string
}

export interface CreditCorrection {
  readonly userId: string
  /** Negative to take credits away. */
  readonly amount: number
  readonly reference: string
  readonly expiresAt: Date | null
  readonly reason: string
  readonly actorId: string
}

interface LotGrant extends Grant {
  readonly periodStart: Date | null
  /** The account that the credits come from. */
  readonly from: HouseKind
  readonly kind: EntryKind
}

type Reference = Pick<Grant, 'userId' | 'reference' | 'reason' | 'actorId'>

const ownersOfExpired = query({ creditLots }, (db, $: { now: string; limit: number }) =>
  db
    .selectFrom('creditLots')
    .select('userId')
    .distinct()
    .where((e) => e('remaining', '>', e.lit(0)))
    .where('expiresAt', '<=', $.now)
    .whereRef('remaining', '>', 'reserved')
    .limit($.limit),
)

function viewOf({ amount, id, status, used, userId }: ReservationRow): Reservation {
  return { _id: id, userId, amount, status, used }
}

/** Lots that do not expire are last. Lots that expire together are used in the order in which they were granted. */
function byExpiry(a: { expiresAt: string | null; id?: string }, b: { expiresAt: string | null; id?: string }): number {
  const [first, second] = [a.expiresAt ?? '~', b.expiresAt ?? '~']
  if (first !== second) return first < second ? -1 : 1
  return (a.id ?? '') < (b.id ?? '') ? -1 : 1
}

/** @throws AppError insufficient_credits */
function takeOldest(
  lots: readonly Lot[],
  amount: number,
  hint?: string,
): { readonly lot: Lot; readonly part: number }[] {
  let left = amount
  const taken = lots.flatMap((lot) => {
    const part = Math.min(left, lot.remaining - lot.reserved)
    left -= part
    return part === 0 ? [] : [{ lot, part }]
  })
  if (left === 0) return taken
  const available = amount - left
  const message = `This needs ${amount} credits; ${available} are left. Wait for the next month, upgrade the plan at /billing, or buy credits with POST /api/payments/initialize.`
  throw InsufficientCredits({ message, details: { amount, available }, hint })
}

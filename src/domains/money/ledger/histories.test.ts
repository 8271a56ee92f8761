import { assert, array, asyncProperty, boolean, constant, integer, nat, oneof, record } from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createDatabase, type TestDatabase } from '../../../../test/support/postgres.ts'
import { DAY, ManualClock } from '../../../core/clock.ts'
import { AppError } from '../../../core/error.ts'
import { uuidv7 } from '../../../tools/id.ts'
import { createLog } from '../../../core/log.ts'
import { Database } from '../../../db/database.ts'
import { entities } from '../../../registry/entities.ts'
import { houseAccount, walletOf } from './accounts.ts'
import { Ledger } from './service.ts'

/** Random histories of one user, compared after each step with a model that knows nothing of the database. */

const START = Date.parse('2026-01-01T00:00:00Z')
const MONTH = 30 * DAY
const PER_MONTH = 20

let made: TestDatabase
let databases: Database[] = []

beforeAll(async () => {
  made = await createDatabase()
  const options = { url: made.url, poolSize: 4, entities, log: createLog({ level: 'silent' }) }
  databases = await Promise.all([Database.connect(options), Database.connect(options)])
})
afterAll(async () => {
  for (const database of databases) await database.close()
  await made?.drop()
})

interface ModelLot {
  readonly expiresAt: number
  free: number
  held: number
}

interface ModelReservation {
  id: string
  open: boolean
  readonly amount: number
  readonly heldUntil: number
  readonly holds: { readonly lot: ModelLot; readonly amount: number }[]
}

class Model {
  money = 0
  lots: ModelLot[] = []
  readonly reservations: ModelReservation[] = []
  readonly #months = new Set<number>()

  remaining(now: number): number {
    const granted = this.#months.has(monthAt(now).start)
    return (granted ? 0 : PER_MONTH) + this.#usable(now).reduce((sum, { free }) => sum + free, 0)
  }

  /** Takes credits, the next to expire first. */
  take(amount: number, now: number): ModelReservation['holds'] {
    const { end, start } = monthAt(now)
    if (!this.#months.has(start)) this.lots.push({ expiresAt: end, free: PER_MONTH, held: 0 })
    this.#months.add(start)
    const holds: ModelReservation['holds'] = []
    for (const lot of this.#usable(now)) {
      const part = Math.min(lot.free, amount - holds.reduce((sum, hold) => sum + hold.amount, 0))
      lot.free -= part
      if (part > 0) holds.push({ lot, amount: part })
    }
    return holds
  }

  end(reservation: ModelReservation, used: number): void {
    let left = used
    reservation.open = false
    for (const { amount, lot } of reservation.holds) {
      const part = Math.min(amount, left)
      left -= part
      lot.held -= amount
      lot.free += amount - part
    }
  }

  sweep(now: number): void {
    for (const reservation of this.reservations) {
      if (reservation.open && reservation.heldUntil <= now) this.end(reservation, 0)
    }
    for (const lot of this.lots) if (lot.expiresAt <= now) lot.free = 0
  }

  balance(): number {
    return this.lots.reduce((sum, { free, held }) => sum + free + held, 0)
  }

  #usable(now: number): ModelLot[] {
    return this.lots.filter(({ expiresAt }) => expiresAt > now).toSorted((a, b) => a.expiresAt - b.expiresAt)
  }
}

function monthAt(now: number) {
  const start = now - ((now - START) % MONTH)
  return { start, end: start + MONTH, perMonth: PER_MONTH, hint: undefined }
}

const amount = integer({ min: 1, max: 60 })
const step = oneof(
  record({ do: constant('topUp' as const), amount }),
  record({ do: constant('pay' as const), amount }),
  record({ do: constant('grant' as const), amount, days: oneof(nat(40), constant(Infinity)) }),
  record({ do: constant('reserve' as const), amount }),
  record({ do: constant('settle' as const), which: nat(), part: nat(100) }),
  record({ do: constant('release' as const), which: nat() }),
  record({ do: constant('correct' as const), amount: integer({ min: -30, max: 30 }).filter((value) => value !== 0) }),
  record({ do: constant('wait' as const), hours: nat(24 * 20), sweep: boolean() }),
)
type Step = typeof step extends { generate: (...given: never[]) => { value: infer T } } ? T : never

/** Runs steps in the ledger and in the model. Every write is sent twice at once, by two pools. */
class History {
  readonly clock = new ManualClock(START)
  readonly #model = new Model()
  readonly #userId = uuidv7(START)
  readonly #ledgers: readonly Ledger[]
  #count = 0

  constructor() {
    const log = createLog({ level: 'silent' })
    const monthOf = async () => monthAt(this.clock.now())
    this.#ledgers = databases.map((database) => new Ledger({ clock: this.clock, database, log }, monthOf))
  }

  async run(given: Step): Promise<void> {
    this.#count += 1
    const model = this.#model
    const now = this.clock.now()
    const about = { userId: this.#userId, reference: `${this.#userId}:${this.#count}` }
    switch (given.do) {
      case 'topUp':
      case 'pay': {
        const change = given.do === 'topUp' ? given.amount : -given.amount
        const works = model.money + change >= 0
        if (works) model.money += change
        await this.#twice(works, (ledger, sql) =>
          ledger.post(sql, {
            kind: given.do === 'topUp' ? 'top_up' : 'wallet_payment',
            reference: about.reference,
            lines: [
              { account: walletOf(this.#userId, 'USD'), amount: change },
              { account: houseAccount(given.do === 'topUp' ? 'gateway:manual' : 'revenue', 'USD'), amount: -change },
            ],
          }),
        )
        break
      }
      case 'grant': {
        const expiresAt = now + given.days * DAY + 1
        model.lots.push({ expiresAt, free: given.amount, held: 0 })
        const until = given.days === Infinity ? null : new Date(expiresAt)
        const grant = { ...about, amount: given.amount, source: 'purchase', expiresAt: until } as const
        await this.#twice(true, (ledger, sql) => ledger.credits.grant(sql, grant))
        break
      }
      case 'reserve': {
        const works = model.remaining(now) >= given.amount
        const holds = works ? model.take(given.amount, now) : []
        for (const hold of holds) hold.lot.held += hold.amount
        const made = await this.#twice(works, (ledger, sql) =>
          ledger.credits.reserve(sql, { ...about, amount: given.amount }),
        )
        if (made === undefined) break
        const { amount: reserved } = given
        model.reservations.push({ id: made._id, open: true, amount: reserved, heldUntil: now + DAY, holds })
        break
      }
      case 'settle':
      case 'release': {
        const open = model.reservations.filter((reservation) => reservation.open)
        const reservation = open[given.which % Math.max(1, open.length)]
        if (reservation === undefined) break
        const used = given.do === 'settle' ? Math.floor((reservation.amount * given.part) / 100) : 0
        model.end(reservation, used)
        await this.#twice(true, ({ credits }, sql) =>
          given.do === 'settle' ? credits.settle(sql, reservation.id, used) : credits.release(sql, reservation.id),
        )
        break
      }
      case 'correct': {
        const works = given.amount > 0 || model.remaining(now) >= -given.amount
        if (given.amount > 0) model.lots.push({ expiresAt: Infinity, free: given.amount, held: 0 })
        else if (works) model.take(-given.amount, now)
        const correction = { ...about, amount: given.amount, expiresAt: null, reason: 'Test', actorId: this.#userId }
        await this.#twice(works, (ledger, sql) => ledger.credits.correct(sql, correction), 1)
        break
      }
      case 'wait':
        this.clock.advance(given.hours * 3_600_000)
        if (!given.sweep) break
        model.sweep(this.clock.now())
        await Promise.all(this.#ledgers.map((ledger) => ledger.sweep(new AbortController().signal)))
    }
  }

  /** The ledger adds up, and agrees with the model. */
  async compare(): Promise<void> {
    const [ledger, database] = [this.#ledgers[0], databases[0]]
    if (ledger === undefined || database === undefined) throw new Error('there is no ledger')
    const credits = await ledger.credits.balanceOf(database, this.#userId)
    const { faults } = await ledger.inspector.check()
    expect({
      faults,
      money: await ledger.wallet.balanceOf(database, this.#userId, 'USD'),
      remaining: credits.remaining,
      balance: await ledger.balanceOf(database, { kind: 'credits', ownerId: this.#userId, unit: 'credit' }),
    }).toEqual({
      faults: [],
      money: this.#model.money,
      remaining: this.#model.remaining(this.clock.now()),
      balance: this.#model.balance(),
    })
  }

  /** @returns the result of the first; both have the same */
  async #twice<T>(
    works: boolean,
    write: (ledger: Ledger, sql: Parameters<Ledger['post']>[0]) => Promise<T>,
    times = 2,
  ): Promise<T | undefined> {
    const written = await Promise.allSettled(
      databases.slice(0, times).map((database, index) => {
        const ledger = this.#ledgers[index]
        if (ledger === undefined) throw new Error('there is no ledger')
        return database.transaction((tx) => write(ledger, tx))
      }),
    )
    for (const result of written) {
      if (works && result.status === 'rejected') throw result.reason
      if (!works) expect(result.status === 'rejected' && result.reason instanceof AppError).toBe(true)
    }
    const [first] = written
    return first?.status === 'fulfilled' ? first.value : undefined
  }
}

test('after each step of a random history, the sum of every account is its balance', async () => {
  await assert(
    asyncProperty(array(step, { maxLength: 25 }), async (steps) => {
      const history = new History()
      for (const given of steps) {
        await history.run(given)
        await history.compare()
      }
    }),
    { numRuns: Number(process.env['LEDGER_RUNS'] ?? 25) },
  )
})

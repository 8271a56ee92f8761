import { DAY, HOUR, type Clock } from '../../../core/clock.ts'
import { Conflict, NotFound } from '../../../core/errors.ts'
import { uuidv7 } from '../../../tools/id.ts'
import { pageOf, pageRequest } from '../../../core/page.ts'
import type { PageResult } from '../../../core/reply.ts'
import type { Sql } from '../../../core/sql.ts'
import { not, sameText } from '../../../db/condition.ts'
import { increment } from '../../../db/increment.ts'
import type { Database } from '../../../db/database.ts'
import { query } from '../../../db/query.ts'
import { CURRENCY } from './currency.ts'
import { planTitle } from './descriptions.ts'
import { CouponNotValid } from './errors.ts'
import { scaled } from '../ledger/index.ts'
import { unusedShare, type PlannedChange, type Standing } from './planned-change.ts'
import type { AppliedCoupon, PricedChange } from './priced-change.ts'
import type { CouponData, NewCouponData } from './schemas.ts'
import { coupons, couponUses, type CouponRow } from './tables.ts'

/** How long a coupon that only some customers can use is held for a payment, such as a bank transfer. */
export const HOLD_MS = 7 * DAY
/** The same after the customer has let it lapse: enough for a card, and too short to keep it from others. */
export const SECOND_HOLD_MS = HOUR

/** Counts a use, unless the coupon was used as often as it can be. */
const countUse = query({ coupons }, (db, $: { id: string }) =>
  db
    .updateTable('coupons')
    .set((e) => ({ uses: e('uses', '+', 1) }))
    .where('id', '=', $.id)
    .where((e) => e.or([e('maxUses', 'is', null), e('uses', '<', e.ref('maxUses'))])),
)

/** Coupons: administrators make them, customers enter their codes. */
export class Coupons {
  readonly #database: Database
  readonly #clock: Clock

  constructor(database: Database, clock: Clock) {
    this.#database = database
    this.#clock = clock
  }

  /** @throws AppError conflict when the code is taken */
  async create(adminId: string, { code, plans = [], ...input }: NewCouponData): Promise<CouponData> {
    const now = new Date(this.#clock.now())
    const id = uuidv7(now.getTime())
    const inserted = await coupons.insert(
      this.#database,
      {
        id,
        code,
        basisPoints: input.percent === undefined ? null : Math.round(input.percent * 100),
        amount: input.amount ?? null,
        currency: CURRENCY,
        cycles: input.cycles ?? null,
        plans: [...plans],
        maxUses: input.maxUses ?? null,
        expiresAt: input.expiresAt === undefined ? null : new Date(input.expiresAt),
        createdBy: adminId,
        createdAt: now,
        updatedAt: now,
      },
      { ignoreConflict: true },
    )
    if (inserted === 0) throw Conflict({ message: 'There is a coupon with this code already.' })
    return viewOf(await this.#find({ id }))
  }

  async list(asked: { limit?: number; cursor?: string }): Promise<PageResult<CouponData>> {
    const page = pageRequest(asked)
    const rows = await coupons.page(this.#database, {}, page)
    return pageOf(rows, page.limit, (row) => row, viewOf)
  }

  /** Nobody can enter the coupon from now on. It still discounts the cycles of those who have. */
  async end(id: string): Promise<CouponData> {
    const now = new Date(this.#clock.now())
    await coupons.update(this.#database, { id, endedAt: null }, { endedAt: now, updatedAt: now })
    return viewOf(await this.#find({ id }))
  }

  /**
   * The coupon that discounts a change: the one of the code, or the one that the customer has entered before.
   * @throws AppError coupon_not_valid
   */
  async appliedTo(
    sql: Sql,
    userId: string,
    change: PlannedChange,
    code: string | undefined,
    standing: Standing,
  ): Promise<AppliedCoupon | undefined> {
    if (code !== undefined) {
      const coupon = await this.#usable(sql, userId, code, change)
      return appliedOf(coupon, coupon.cycles, 'new')
    }
    if (change.event === 'changed') return this.#carried(sql, standing, change)
    const uses = await couponUses.find(sql, { userId, status: 'active' })
    const use = uses.find(({ cyclesLeft }) => cyclesLeft === null || cyclesLeft > 0)
    if (use === undefined) return undefined
    const coupon = await coupons.first(sql, { id: use.couponId })
    return coupon && isFor(coupon, change) ? appliedOf(coupon, use.cyclesLeft, 'running') : undefined
  }

  /**
   * Holds a new coupon for a payment, so that it is not used more often than allowed. Further payments of the customer
   * share the hold and do not extend it. The caller has locked the customer's subscription.
   * @returns until when it is held, in milliseconds since the epoch. Null if nobody has to wait for it
   * @throws AppError coupon_not_valid when others have used it up
   */
  async hold(sql: Sql, userId: string, { coupon }: PricedChange): Promise<number | null> {
    if (coupon?.use !== 'new') return null
    const { cyclesLeft, id: couponId } = coupon
    const now = this.#clock.now()
    const updatedAt = new Date(now)
    const row = await couponUses.first(sql, { couponId, userId })
    if (row?.status === 'active') return null
    const isLimited = (await coupons.first(sql, { id: couponId }))?.maxUses !== null
    const known = row?.status === 'held' && row.heldUntil !== null ? Date.parse(row.heldUntil) : 0
    const until = known > now ? known : now + (row === undefined ? HOLD_MS : SECOND_HOLD_MS)
    const heldUntil = isLimited ? new Date(until) : null
    if (row?.status === 'held') {
      await couponUses.update(sql, { couponId, userId }, { holds: increment(1), heldUntil, updatedAt })
    } else {
      const use = { couponId, userId, status: 'held' as const, cyclesLeft, holds: 1, heldUntil, updatedAt }
      if (row === undefined) await couponUses.insert(sql, { ...use, createdAt: updatedAt })
      else await couponUses.update(sql, { couponId, userId }, use)
      if ((await countUse.run(sql, { id: couponId })) === 0) throw usedUp()
    }
    return isLimited ? until : null
  }

  /** The payment has succeeded: the coupon is used, and another one that was in use is not any more. */
  async use(sql: Sql, userId: string, { coupon }: PricedChange): Promise<void> {
    if (coupon === null || coupon.use === 'carried') return
    const updatedAt = new Date(this.#clock.now())
    if (coupon.use === 'new') {
      await couponUses.update(sql, { userId, couponId: not(coupon.id) }, { cyclesLeft: 0, updatedAt })
    }
    const { cyclesLeft, id: couponId } = coupon
    const row = await couponUses.first(sql, { userId, couponId })
    const used = { status: 'active' as const, cyclesLeft, holds: 0, heldUntil: null, updatedAt }
    if (row !== undefined) await couponUses.update(sql, { userId, couponId }, used)
    else await couponUses.insert(sql, { couponId, userId, ...used, createdAt: updatedAt })
    // What was quoted stays valid, also if the coupon is not held any more.
    if (row === undefined || row.status === 'lapsed')
      await coupons.update(sql, { id: couponId }, { uses: increment(1) })
  }

  /** The payment has failed: the customer, or another one, can use the coupon unless another payment holds it. */
  async release(sql: Sql, userId: string, { coupon }: PricedChange): Promise<void> {
    if (coupon?.use !== 'new') return
    const { id: couponId } = coupon
    const row = await couponUses.first(sql, { couponId, userId, status: 'held' })
    if (row === undefined) return
    const now = this.#clock.now()
    const updatedAt = new Date(now)
    if (row.holds > 1) {
      await couponUses.update(sql, { couponId, userId }, { holds: increment(-1), updatedAt })
      return
    }
    const hasLapsed = row.heldUntil !== null && Date.parse(row.heldUntil) <= now
    if (hasLapsed) await couponUses.update(sql, { couponId, userId }, { status: 'lapsed', holds: 0, updatedAt })
    else await couponUses.delete(sql, { couponId, userId })
    await coupons.update(sql, { id: couponId }, { uses: increment(-1) })
  }

  async #usable(sql: Sql, userId: string, code: string, change: PlannedChange): Promise<CouponRow> {
    const coupon = await coupons.first(sql, { code: sameText(code) })
    if (coupon === undefined) throw CouponNotValid({ message: 'There is no coupon with this code.' })
    const now = this.#clock.now()
    if (coupon.endedAt !== null) throw CouponNotValid({ message: 'This coupon has ended.' })
    if (coupon.expiresAt !== null && Date.parse(coupon.expiresAt) <= now) {
      throw CouponNotValid({ message: 'This coupon has expired.' })
    }
    if (!isFor(coupon, change)) {
      const titles = coupon.plans.map((plan) => planTitle(plan)).join(', ')
      throw CouponNotValid({ message: `This coupon is for other plans: ${titles}.` })
    }
    const use = await couponUses.first(sql, { couponId: coupon.id, userId })
    if (use?.status === 'active') throw CouponNotValid({ message: 'You have used this coupon before.' })
    if (use?.status !== 'held' && coupon.maxUses !== null && coupon.uses >= coupon.maxUses) throw usedUp()
    return coupon
  }

  /**
   * The discount of the cycles that a change replaces goes on: a percentage applies to the new price, and of an amount
   * the unused part.
   */
  async #carried(sql: Sql, { anchor, paid }: Standing, change: PlannedChange): Promise<AppliedCoupon | undefined> {
    const couponId = paid[0]?.couponId ?? null
    if (couponId === null) return undefined
    const coupon = await coupons.first(sql, { id: couponId })
    if (coupon === undefined || !isFor(coupon, change)) return undefined
    const covered = paid.filter((cycle) => cycle.couponId === couponId)
    const applied = appliedOf(coupon, covered.length, 'carried')
    if (coupon.basisPoints !== null) return applied
    const now = this.#clock.now()
    const off = covered.map((cycle) => {
      const { left, of } = unusedShare(anchor, cycle, now)
      return { amount: scaled(cycle.discount, left, of) }
    })
    return { ...applied, off }
  }

  async #find(where: { readonly id: string }): Promise<CouponRow> {
    const row = await coupons.first(this.#database, where)
    if (row === undefined) throw NotFound()
    return row
  }
}

function usedUp() {
  return CouponNotValid({ message: 'This coupon was used as often as it can be.' })
}

function isFor({ plans }: CouponRow, { plan }: PlannedChange): boolean {
  return plans.length === 0 || plans.includes(plan)
}

function appliedOf(
  { amount, basisPoints, code, id }: CouponRow,
  cycles: number | null,
  use: AppliedCoupon['use'],
): AppliedCoupon {
  return { id, code, off: basisPoints === null ? { amount: amount ?? 0 } : { basisPoints }, cycles, use }
}

function viewOf(row: CouponRow): CouponData {
  return {
    _id: row.id,
    code: row.code,
    percent: row.basisPoints === null ? null : row.basisPoints / 100,
    amount: row.amount,
    currency: row.currency,
    cycles: row.cycles,
    plans: row.plans,
    maxUses: row.maxUses,
    usesCount: row.uses,
    expiresAt: row.expiresAt,
    endedAt: row.endedAt,
    createdBy: row.createdBy,
    createdAt: row.createdAt,
    updatedAt: row.updatedAt,
  }
}

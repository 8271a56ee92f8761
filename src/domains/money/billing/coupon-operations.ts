import { EXAMPLE } from '../../../core/example-ids.ts'
import { Conflict, NotFound, ValidationFailed } from '../../../core/errors.ts'
import { operation } from '../../../core/operation.ts'
import { PageQuery } from '../../../core/page.ts'
import { created, list, ok } from '../../../core/reply.ts'
import { Envelope, Id, Input, ListOf } from '../../../core/schema.ts'
import { CouponView, NewCoupon } from './schemas.ts'

export const createCoupon = operation({
  route: 'POST /api/billing/coupons',
  summary: 'Create a coupon',
  description: 'Takes off a percentage, or an amount of each cycle. Each customer can use it once.',
  access: 'admin',
  body: NewCoupon,
  returns: { 201: Envelope(CouponView) },
  errors: [Conflict],
  example: { body: { code: 'SPRING', percent: 20, cycles: 3, plans: ['pro', 'business'], maxUses: 100 } },
  handle: async ({ billing, body, caller }) => {
    if ((body.percent === undefined) === (body.amount === undefined)) {
      const message = 'needs either percent or amount'
      throw ValidationFailed({ errors: [{ path: '/body', code: 'one_of', message }] })
    }
    return created('Coupon created', await billing.coupons.create(caller.userId, body))
  },
})

export const listCoupons = operation({
  route: 'GET /api/billing/coupons',
  summary: 'List coupons',
  access: 'admin',
  query: PageQuery,
  returns: { 200: ListOf(CouponView) },
  example: { query: { limit: 20 } },
  handle: async ({ billing, query }) => list('Coupons', await billing.coupons.list(query)),
})

export const endCoupon = operation({
  route: 'POST /api/billing/coupons/{id}/end',
  summary: 'End a coupon',
  description:
    'Nobody can enter it any more. Customers who have entered it keep their discount. Repeating it changes nothing.',
  access: 'admin',
  path: Input({ id: Id }),
  returns: { 200: Envelope(CouponView) },
  errors: [NotFound],
  example: { path: { id: EXAMPLE.couponId } },
  handle: async ({ billing, path }) => ok('Coupon ended', await billing.coupons.end(path.id)),
})

import { defineError } from '../../../core/error.ts'

export const CouponNotValid = defineError({
  code: 'coupon_not_valid',
  status: 409,
  message: 'This coupon cannot be used.',
  cause:
    'No coupon has this code, it has ended or expired, it was used as often as it can be, you have used it before, or it is for other plans. The message says which.',
  fix: 'Check the code, or continue without a coupon.',
})

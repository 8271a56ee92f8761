import { defineError } from '../../../core/error.ts'

export const CouponNotValid = defineError({
  code: 'coupon_not_valid',
  status: 409,
  message: 'This coupon cannot be used.',
  cause:
    'No coupon has this code, it has ended or expired, it was used as often as it can be, you have used it before, or it is for other plans. The message says which.',
  fix: 'Check the code, or continue without a coupon.',
})

export const PaymentNeeded = defineError({
  code: 'payment_needed',
  status: 402,
  message: 'There is no payment method, and the wallet does not have enough money.',
  cause:
    'You have no default payment method, and the price is larger than the balance of your wallet. `details` has the price.',
  fix: 'Add a payment method or money to the wallet, or pay with POST /api/payments/initialize.',
})

export const PaymentUnfinished = defineError({
  code: 'payment_unfinished',
  status: 402,
  message: 'The payment is not finished. The change takes effect once it is.',
  cause:
    'The bank wants a confirmation from you, or the payment takes some time. `details` has its reference and status.',
  fix: 'Complete the payment in the browser, then send its reference to POST /api/payments/verify.',
})

import { defineError } from '../../../core/error.ts'

export const InsufficientFunds = defineError({
  code: 'insufficient_funds',
  status: 402,
  message: 'The wallet does not have enough money.',
  cause:
    'The amount is larger than the balance of the wallet in this currency. `details` has the amount and the currency.',
  fix: 'Add money to the wallet, or pay in another way.',
})

export const InsufficientCredits = defineError({
  code: 'insufficient_credits',
  status: 402,
  message: 'There are not enough credits.',
  cause: 'The request needs more credits than are left this month. `details` has both numbers.',
  fix: 'Buy credits, wait for the next month, or upgrade the plan.',
})

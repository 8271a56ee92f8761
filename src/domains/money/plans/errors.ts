import { defineError } from '../../../core/error.ts'

/** `details.reason` is `account`, `email` or `card`. */
export const TrialUsed = defineError({
  code: 'trial_used',
  status: 409,
  message: 'The free trial was used before.',
  cause:
    'There is one free trial for a person and a card. This account, another account with the same address (also with dots, or a part after a plus sign), or another account with this card had one; `details.reason` says which.',
  fix: 'Pay for the plan with POST /api/billing/upgrade, or in a browser with POST /api/payments/initialize. While a trial runs, another card can be saved.',
})

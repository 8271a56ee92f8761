import type { PersonalData } from '../../../core/personal-data.ts'

/** What the domain holds on persons. */
export const personal = {
  'billing_cycles.user_id': {
    about: 'The cycles of your subscription',
    export: { file: 'billing-cycles' },
    deletion: 'deleted',
  },
  'coupon_uses.user_id': {
    about: 'Coupons that you have used',
    export: { file: 'coupons', key: ['coupon_id'] },
    deletion: 'deleted',
  },
  'trial_uses.user_id': {
    about: 'That you have had a free trial, without your address and card number',
    export: { file: 'trials', key: ['digest'], omit: ['digest'] },
    deletion: { kept: 'A person has one free trial. It cannot be repeated with a new account.' },
  },
  'coupons.created_by': {
    about: 'Coupons that you have made as an administrator',
    export: { never: 'They say nothing about you.' },
    deletion: { kept: 'Customers use them.' },
  },
} satisfies PersonalData

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
  'coupons.created_by': {
    about: 'Coupons that you have made as an administrator',
    export: { never: 'They say nothing about you.' },
    deletion: { kept: 'Customers use them.' },
  },
} satisfies PersonalData

import type { PersonalData } from '../../../core/personal-data.ts'

/** What the domain holds on persons. */
export const personal = {
  'payments.user_id': {
    about: 'Your payments',
    export: { file: 'payments', omit: ['gateway_data', 'input'] },
    deletion: { kept: 'Tax and accounting law requires it to be kept, in most countries for six to ten years.' },
  },
  'payment_changes.actor_id': {
    about: 'Changes of payments that you have made as an administrator',
    export: { never: 'They are about the payments of others.' },
    deletion: { kept: 'Tax and accounting law requires it to be kept, in most countries for six to ten years.' },
  },
  'payment_refunds.actor_id': {
    about: 'Refunds that you have made as an administrator',
    export: { never: 'They are about the payments of others.' },
    deletion: { kept: 'Tax and accounting law requires it to be kept, in most countries for six to ten years.' },
  },
  'payment_methods.user_id': {
    about: 'Saved payment methods, without card numbers, which we never have',
    export: { file: 'payment-methods', omit: ['fingerprint'] },
    deletion: 'deleted',
  },
  'gateway_customers.user_id': {
    about: 'Your customer numbers at payment providers',
    export: { file: 'payment-providers', key: ['gateway'] },
    deletion: 'deleted',
  },
} satisfies PersonalData

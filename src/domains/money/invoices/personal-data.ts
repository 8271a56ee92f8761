import type { PersonalData } from '../../../core/personal-data.ts'

/** What the domain holds on persons. */
export const personal = {
  'billing_profiles.user_id': {
    about: 'Name and address on your invoices',
    export: { file: 'billing-profile', key: ['user_id'] },
    deletion: 'deleted',
  },
  'invoices.user_id': {
    about: 'Your invoices and credit notes',
    export: { file: 'invoices' },
    deletion: { kept: 'Tax and accounting law requires it to be kept, in most countries for six to ten years.' },
  },
} satisfies PersonalData

import type { PersonalData } from '../../../core/personal-data.ts'

/** What the domain holds on persons. */
export const personal = {
  'ledger_accounts.owner_id': {
    about: 'The accounts of your wallet and credits',
    export: { file: 'wallet-accounts' },
    deletion: { kept: 'Tax and accounting law requires it to be kept, in most countries for six to ten years.' },
  },
  'ledger_entries.actor_id': {
    about: 'Bookings that you have caused',
    export: { never: 'They are in wallet-bookings.' },
    deletion: { kept: 'Tax and accounting law requires it to be kept, in most countries for six to ten years.' },
  },
  'ledger_lines.account_id': {
    about: 'Bookings of your wallet and credits',
    export: { file: 'wallet-bookings' },
    through: 'ledger_accounts.owner_id',
    deletion: { kept: 'Tax and accounting law requires it to be kept, in most countries for six to ten years.' },
  },
  'credit_lots.user_id': {
    about: 'Credits that you were given, and when they expire',
    export: { file: 'credits' },
    deletion: { kept: 'Tax and accounting law requires it to be kept, in most countries for six to ten years.' },
  },
  'credit_reservations.user_id': {
    about: 'Credits that are or were reserved for work',
    export: { file: 'credit-reservations' },
    deletion: { kept: 'Tax and accounting law requires it to be kept, in most countries for six to ten years.' },
  },
} satisfies PersonalData

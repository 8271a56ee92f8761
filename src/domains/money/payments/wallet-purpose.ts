import { ValidationFailed } from '../../../core/errors.ts'
import { inWallet } from './ledger-lines.ts'
import type { Purpose, PurposeRequest } from './purposes.ts'

const DEFAULT_CURRENCY = 'USD'

/** Money for the wallet. No tax is due until it is spent. */
export const walletPurpose: Purpose = {
  quote: async (_sql, { input, userId }: PurposeRequest) => {
    const { amount, currency = DEFAULT_CURRENCY } = input as { readonly amount?: number; readonly currency?: string }
    if (amount === undefined) {
      throw ValidationFailed({ errors: [{ path: '/body/amount', code: 'required', message: 'is required' }] })
    }
    const total = { amount, currency }
    return { total, description: 'Money for the wallet', credits: [inWallet(userId, total)], details: {} }
  },
  settle: async () => true,
}

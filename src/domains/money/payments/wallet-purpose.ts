import { ValidationFailed } from '../../../core/errors.ts'
import { textsFor } from '../../../language/texts.ts'
import { inWallet } from './ledger-lines.ts'
import type { Purpose, PurposeRequest } from './purposes.ts'

const DEFAULT_CURRENCY = 'USD'

/** Money for the wallet. No tax is due until it is spent. */
export const walletPurpose: Purpose = {
  quote: async (_sql, { input, language, userId }: PurposeRequest) => {
    const { amount, currency = DEFAULT_CURRENCY } = input as { readonly amount?: number; readonly currency?: string }
    if (amount === undefined) {
      throw ValidationFailed({ errors: [{ path: '/body/amount', code: 'required', message: 'is required' }] })
    }
    const total = { amount, currency }
    const description = textsFor(language).say('payment.wallet')
    return { total, description, credits: [inWallet(userId, total)], details: {} }
  },
  settle: async () => true,
}

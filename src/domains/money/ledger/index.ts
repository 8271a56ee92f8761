/** What other domains use of the ledger. */

export { houseAccount, walletOf, type Account } from './accounts.ts'
export type { Line } from './book.ts'
export type { CreditUse } from './credit-uses.ts'
export { InsufficientCredits, InsufficientFunds } from './errors.ts'
export { allocate, apportion, divideHalfEven, scaled, sum } from './rounding.ts'
export { CreditBalance, MAX_AMOUNT } from './schemas.ts'
export type { Ledger } from './service.ts'

/** What other domains use of the ledger. */

export { houseAccount, walletOf } from './accounts.ts'
export type { Line } from './book.ts'

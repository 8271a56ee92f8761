import { domain } from '../../../domain.ts'
import { composeLedger } from './compose.ts'
import * as jobs from './jobs.ts'
import * as operations from './operations.ts'
import { ledgerEntities } from './tables.ts'
import { personal } from './personal-data.ts'

export const ledger = domain({
  personal,
  name: 'ledger',
  about: 'Wallets and credits, and the ledger behind them',
  operations,
  jobs,
  entities: ledgerEntities,
  compose: composeLedger,
})

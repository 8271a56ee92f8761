import { EXAMPLE } from '../../../core/example-ids.ts'
import { NotFound } from '../../../core/errors.ts'
import { operation } from '../../../core/operation.ts'
import { PageQuery, pageRequest } from '../../../core/page.ts'
import { created, list, ok } from '../../../core/reply.ts'
import { Envelope, ListOf } from '../../../core/schema.ts'
import { InsufficientCredits, InsufficientFunds } from './errors.ts'
import { Correction, LedgerReport, NewCorrection, Wallet, WalletEntry } from './schemas.ts'

export const getWallet = operation({
  route: 'GET /api/subscriptions/wallet',
  summary: 'Get your wallet',
  description: 'Shows the money in the wallet, the credits, and the ten newest entries of both.',
  access: 'user',
  returns: { 200: Envelope(Wallet) },
  example: {},
  handle: async ({ caller, ledger }) => ok('Wallet', await ledger.wallet.overview(caller.userId)),
})

export const listWalletEntries = operation({
  route: 'GET /api/subscriptions/wallet/entries',
  summary: 'List the entries of your wallet',
  description: 'Every change of the money and the credits, newest first. Entries never change.',
  access: 'user',
  query: PageQuery,
  returns: { 200: ListOf(WalletEntry) },
  example: { query: { limit: 20 } },
  handle: async ({ caller, ledger, query }) =>
    list('Entries', await ledger.wallet.entries(caller.userId, pageRequest(query))),
})

export const correctBalance = operation({
  route: 'POST /api/billing/ledger/corrections',
  summary: 'Correct the balance of a user',
  description:
    'Adds an entry with the reason and the administrator. Nothing is edited or deleted. To undo a correction, make the opposite one.',
  access: 'admin',
  body: NewCorrection,
  returns: { 201: Envelope(Correction) },
  errors: [NotFound, InsufficientFunds, InsufficientCredits],
  example: {
    body: {
      userId: EXAMPLE.userId,
      accountKind: 'wallet',
      amount: 500,
      currency: 'USD',
      reason: 'Goodwill for the outage on 2 March',
    },
  },
  handle: async ({ body, caller, ledger }) =>
    created('Balance corrected', await ledger.wallet.correct(caller.userId, body)),
})

export const listCorrections = operation({
  route: 'GET /api/billing/ledger/corrections',
  summary: 'List corrections of balances',
  access: 'admin',
  query: PageQuery,
  returns: { 200: ListOf(Correction) },
  example: { query: { limit: 20 } },
  handle: async ({ ledger, query }) => list('Corrections', await ledger.wallet.corrections(pageRequest(query))),
})

export const getLedgerReport = operation({
  route: 'GET /api/billing/ledger/report',
  summary: 'Get the result of the last check of the ledger',
  description:
    'Every night, the balance of each account is compared with the sum of its lines, and the credits of each user with their lots.',
  access: 'admin',
  returns: { 200: Envelope(LedgerReport) },
  example: {},
  handle: async ({ ledger }) => ok('Report', await ledger.inspector.look()),
})

import { Id, Input, InstantInput, Nullable, OneOf, States, Text, Timestamp, Type, named } from '../../../core/schema.ts'
import type { Static } from '../../../core/schema.ts'

/** What an entry of the ledger is about. */
export const EntryKindSchema = States('LedgerEntryKind', 'What an entry of the ledger is about', {
  payment: 'A payment was settled',
  wallet_payment: 'Something was paid with money from the wallet',
  top_up: 'Money was added to the wallet',
  refund: 'A payment was paid back',
  dispute: 'The bank of the payer has taken a payment back, or has returned it',
  fee: 'A gateway has charged a fee',
  payout: 'A gateway has paid out what it held',
  plan_credits: 'The credits of a month of the plan were granted',
  credit_purchase: 'Credits were bought',
  gift: 'Credits were given without payment',
  credit_use: 'Credits were used',
  credit_expiry: 'Credits have expired',
  correction: 'An administrator has corrected a balance',
})
export type EntryKind = Static<typeof EntryKindSchema>

const Currency = { pattern: '^[A-Z]{3}$', description: 'ISO 4217' }
const WALLET_ACCOUNTS = ['wallet', 'credits'] as const

export const WalletEntry = named(
  'WalletEntry',
  Type.Object({
    _id: Id,
    accountKind: OneOf(WALLET_ACCOUNTS),
    kind: EntryKindSchema,
    amount: Type.Integer({
      description: 'The change of the balance: minor units of the currency, or credits. Negative for what was spent.',
    }),
    currency: Nullable(Type.String({ ...Currency, description: 'ISO 4217; null for credits' })),
    balance: Type.Integer({ description: 'The balance of the wallet in this currency, or of the credits, afterwards' }),
    reason: Nullable(Type.String({ description: 'Why an administrator has corrected the balance' })),
    createdAt: Timestamp,
  }),
)
export type WalletEntryData = Static<typeof WalletEntry>

export const CreditBalance = named(
  'CreditBalance',
  Type.Object({
    remaining: Type.Integer({ minimum: 0, description: 'Credits that can be used now' }),
    reserved: Type.Integer({ minimum: 0, description: 'Credits that are kept for work in progress' }),
    perMonth: Type.Integer({ minimum: 0, description: 'Credits that the plan grants each month' }),
    lots: Type.Array(
      Type.Object({
        remaining: Type.Integer({ minimum: 0 }),
        source: States('CreditSource', 'Where credits come from', {
          plan: 'The plan grants them for a month',
          purchase: 'They were bought',
          gift: 'They were given without payment',
        }),
        expiresAt: Nullable(Timestamp),
      }),
      { description: 'What remains, in the order in which it is used: the next to expire first' },
    ),
  }),
)
export type CreditBalanceData = Static<typeof CreditBalance>

export const Wallet = named(
  'Wallet',
  Type.Object({
    balances: Type.Array(
      Type.Object({
        amount: Type.Integer({ minimum: 0, description: 'Minor units, such as cents' }),
        currency: Type.String(Currency),
      }),
      { description: 'Money in the wallet, by currency' },
    ),
    credits: CreditBalance,
    entries: Type.Array(WalletEntry, { description: 'The newest entries' }),
  }),
)

/** The largest amount that a person can enter. Thousands of them add up to less than 2^53, so balances stay exact. */
export const MAX_AMOUNT = 1_000_000_000_000

export const NewCorrection = Input({
  userId: Id,
  accountKind: OneOf(WALLET_ACCOUNTS),
  amount: Type.Integer({
    minimum: -MAX_AMOUNT,
    maximum: MAX_AMOUNT,
    description: 'Minor units, or credits. Negative to take away. Not 0.',
  }),
  currency: Type.Optional(Type.String({ ...Currency, maxLength: 3, description: 'ISO 4217. For the wallet only.' })),
  expiresAt: Type.Optional({ ...InstantInput, description: 'When added credits expire. Without it they do not.' }),
  reason: Text(3, 500, { description: 'Shown to the user' }),
})
export const Correction = named(
  'LedgerCorrection',
  Type.Object({
    ...WalletEntry.properties,
    userId: Id,
    actorId: Nullable({ ...Id, description: 'The administrator who made it' }),
  }),
)
export type CorrectionData = Static<typeof Correction>
export type NewCorrectionData = Static<typeof NewCorrection>

export const FAULT_KINDS = {
  balance: 'The balance of an account is not the sum of its lines',
  entry: 'The lines of an entry do not add up to zero',
  lots: 'The credits that remain in lots are not the balance of the account',
  holds: 'The credits that lots keep are not those of open reservations',
} as const

export const LedgerReport = named(
  'LedgerReport',
  Type.Object({
    checkedAt: Nullable({ ...Timestamp, description: 'Null before the first check' }),
    accountsCount: Type.Integer({ minimum: 0 }),
    linesCount: Type.Integer({ minimum: 0 }),
    faults: Type.Array(
      Type.Object({
        kind: States('LedgerFault', 'What is wrong in the ledger', FAULT_KINDS),
        subjectId: Type.String({ description: 'The id of the account, entry, user or lot' }),
        expectedAmount: Type.Integer(),
        foundAmount: Type.Integer(),
      }),
      { description: 'Empty if everything adds up. At most 100 of each kind.' },
    ),
  }),
)
export type LedgerReportData = Static<typeof LedgerReport>

import { defineEntity, p } from '@mikro-orm/postgresql'
import { references, timestamp } from '../../../db/columns.ts'
import { table } from '../../../db/table.ts'
import type { Fault } from './inspector.ts'
import type { EntryKind } from './schemas.ts'

const amount = () => p.bigint('number')

/**
 * An account of the ledger. Triggers keep its balance, which is the sum of its lines, and refuse every other change
 * (`src/db/migrations/baseline/money.ts`). There is no foreign key to the user, because the books outlive users.
 */
const LedgerAccount = defineEntity({
  name: 'LedgerAccount',
  tableName: 'ledger_accounts',
  indexes: [
    {
      name: 'ledger_accounts_by_owner',
      expression: 'create index ledger_accounts_by_owner on ledger_accounts (owner_id, id) where owner_id is not null',
    },
  ],
  checks: [
    { name: 'ledger_accounts_owned', expression: `(kind in ('wallet', 'credits')) = (owner_id is not null)` },
    { name: 'ledger_accounts_not_below_zero', expression: 'owner_id is null or balance >= 0' },
  ],
  properties: {
    /** Derived from the other columns; see `accountId`. */
    id: p.uuid().primary(),
    kind: p.text(),
    /** The user, of a wallet or of credits. Null for accounts of the house. */
    ownerId: p.uuid().nullable(),
    /** `credit`, or an ISO 4217 currency. */
    unit: p.text(),
    balance: amount().defaultRaw('0'),
    createdAt: timestamp(),
  },
})

/** What happened once: lines that add up to zero in each unit. */
const LedgerEntry = defineEntity({
  name: 'LedgerEntry',
  tableName: 'ledger_entries',
  uniques: [{ name: 'ledger_entries_reference_key', properties: ['reference'] }],
  indexes: [
    {
      name: 'ledger_entries_corrections',
      expression: `create index ledger_entries_corrections on ledger_entries (id) where kind = 'correction'`,
    },
  ],
  checks: [{ name: 'ledger_entries_line_count', expression: 'line_count >= 2' }],
  properties: {
    id: p.uuid().primary(),
    kind: p.text().$type<EntryKind>(),
    reference: p.text(),
    reason: p.text().nullable(),
    /** The administrator who posted it, if it was one. */
    actorId: p.uuid().nullable(),
    lineCount: p.smallint(),
    createdAt: timestamp(),
  },
})

const LedgerLine = defineEntity({
  name: 'LedgerLine',
  tableName: 'ledger_lines',
  indexes: [
    { name: 'ledger_lines_by_account', properties: ['accountId', 'id'] },
    { name: 'ledger_lines_by_entry', properties: ['entryId'] },
  ],
  checks: [{ name: 'ledger_lines_not_zero', expression: 'amount <> 0' }],
  properties: {
    id: p.uuid().primary(),
    entryId: references(LedgerEntry, { name: 'ledger_lines_entry_id_fkey', onDelete: 'no action' }),
    /** A trigger checks that it exists and has this unit. Accounts of the house exist from their first commit on. */
    accountId: p.uuid(),
    /** The kind of an account of the house. Null for accounts of users. */
    house: p.text().nullable(),
    unit: p.text(),
    amount: amount(),
    /** The balance of the account after this line. Null for accounts of the house. */
    balance: amount().nullable(),
    createdAt: timestamp(),
  },
})

export type LotSource = 'plan' | 'purchase' | 'gift'

/** Credits that were granted together and expire together. What remains of a user's lots is the balance of the account. */
const CreditLot = defineEntity({
  name: 'CreditLot',
  tableName: 'credit_lots',
  indexes: [
    { name: 'credit_lots_by_person', properties: ['userId', 'id'] },
    {
      name: 'credit_lots_open',
      expression: 'create index credit_lots_open on credit_lots (user_id, expires_at) where remaining > 0',
    },
    { name: 'credit_lots_by_period', properties: ['userId', 'expiresAt'] },
    {
      name: 'credit_lots_by_expiry',
      expression: 'create index credit_lots_by_expiry on credit_lots (expires_at) where remaining > 0',
    },
  ],
  checks: [
    {
      name: 'credit_lots_amounts',
      expression: '0 <= reserved and reserved <= remaining and remaining <= amount',
    },
  ],
  properties: {
    id: p.uuid().primary(),
    userId: p.uuid(),
    entryId: references(LedgerEntry, { name: 'credit_lots_entry_id_fkey', onDelete: 'no action' }),
    source: p.text().$type<LotSource>(),
    /** For credits of the plan: the start of the month that they belong to. */
    periodStart: timestamp().nullable(),
    amount: amount(),
    remaining: amount(),
    /** The part of `remaining` that open reservations hold. */
    reserved: amount().defaultRaw('0'),
    expiresAt: timestamp().nullable(),
    createdAt: timestamp(),
  },
})

export type ReservationStatus = 'open' | 'settled' | 'released'

/** Credits that are kept for work whose cost is known only at its end. */
const CreditReservation = defineEntity({
  name: 'CreditReservation',
  tableName: 'credit_reservations',
  uniques: [{ name: 'credit_reservations_reference_key', properties: ['reference'] }],
  indexes: [
    { name: 'credit_reservations_by_person', properties: ['userId', 'id'] },
    {
      name: 'credit_reservations_held',
      expression: `create index credit_reservations_held on credit_reservations (held_until) where status = 'open'`,
    },
  ],
  properties: {
    id: p.uuid().primary(),
    userId: p.uuid(),
    reference: p.text(),
    amount: amount(),
    used: amount().nullable(),
    status: p.text().$type<ReservationStatus>(),
    /** When it is released without having been settled. */
    heldUntil: timestamp(),
    createdAt: timestamp(),
    endedAt: timestamp().nullable(),
  },
})

/** How much of which lot a reservation holds. */
const CreditHold = defineEntity({
  name: 'CreditHold',
  tableName: 'credit_holds',
  properties: {
    reservationId: references(CreditReservation, {
      name: 'credit_holds_reservation_id_fkey',
      onDelete: 'no action',
    }).primary(),
    lotId: references(CreditLot, { name: 'credit_holds_lot_id_fkey', onDelete: 'no action' }).primary(),
    amount: amount(),
  },
})

/** The result of a check of the whole ledger. */
const LedgerCheck = defineEntity({
  name: 'LedgerCheck',
  tableName: 'ledger_checks',
  properties: {
    id: p.uuid().primary(),
    accountsCount: p.integer(),
    linesCount: amount(),
    faults: p.json<readonly Fault[]>(),
    createdAt: timestamp(),
  },
})

export const ledgerAccounts = table(LedgerAccount)
export const ledgerEntries = table(LedgerEntry)
export const ledgerLines = table(LedgerLine)
export const creditLots = table(CreditLot)
export const creditReservations = table(CreditReservation)
export const creditHolds = table(CreditHold)
export const ledgerChecks = table(LedgerCheck)

export const ledgerEntities = [
  LedgerAccount,
  LedgerEntry,
  LedgerLine,
  CreditLot,
  CreditReservation,
  CreditHold,
  LedgerCheck,
]

import type { Clock } from '../../../core/clock.ts'
import { NotFound, ValidationFailed } from '../../../core/errors.ts'
import { uuidv7 } from '../../../tools/id.ts'
import { instant } from '../../../core/instant.ts'
import { pageOf, type PageRequest } from '../../../core/page.ts'
import type { PageResult } from '../../../core/reply.ts'
import type { Sql } from '../../../core/sql.ts'
import type { Database } from '../../../db/database.ts'
import { query } from '../../../db/query.ts'
import { findUser } from '../../identity/users/index.ts'
import { CREDIT, houseAccount, walletOf } from './accounts.ts'
import type { Book } from './book.ts'
import type { Credits } from './credits.ts'
import type { CorrectionData, EntryKind, NewCorrectionData, WalletEntryData } from './schemas.ts'
import { ledgerAccounts, ledgerEntries, ledgerLines } from './tables.ts'

/** An amount in minor units of an ISO 4217 currency. */
interface Money {
  readonly amount: number
  readonly currency: string
}

const RECENT = 10

/** The money and credits of users, and how administrators correct them. */
export class Wallets {
  readonly #database: Database
  readonly #book: Book
  readonly #credits: Credits
  readonly #clock: Clock

  constructor(database: Database, book: Book, credits: Credits, clock: Clock) {
    this.#database = database
    this.#book = book
    this.#credits = credits
    this.#clock = clock
  }

  /** The money of a user in one currency, in minor units. */
  balanceOf(sql: Sql, userId: string, currency: string): Promise<number> {
    return this.#book.balanceOf(sql, walletOf(userId, currency))
  }

  /** What a user sees of their money and credits. */
  async overview(userId: string) {
    const [balances, credits, entries] = await Promise.all([
      this.#balances(this.#database, userId),
      this.#credits.balanceOf(this.#database, userId),
      this.entries(userId, { limit: RECENT, after: undefined }),
    ])
    return { balances, credits, entries: [...entries.items] }
  }

  /** A page of the entries of a user, newest first. */
  async entries(userId: string, { after, limit }: PageRequest): Promise<PageResult<WalletEntryData>> {
    const rows = await ownedLines.rows(this.#database, { ownerId: userId, limit: limit + 1, before: after?.id })
    return pageOf(rows, limit, (row) => row, viewOf)
  }

  /** A page of all corrections, newest first. */
  async corrections({ after, limit }: PageRequest): Promise<PageResult<CorrectionData>> {
    const rows = await ownedLines.rows(this.#database, { kind: 'correction', limit: limit + 1, before: after?.id })
    return pageOf(rows, limit, (row) => row, correctionOf)
  }

  /**
   * Corrects a balance by an entry, for an administrator.
   * @throws AppError not_found, validation_failed, insufficient_funds or insufficient_credits
   */
  async correct(actorId: string, input: NewCorrectionData): Promise<CorrectionData> {
    const { accountKind, amount, currency = '', expiresAt, reason, userId } = input
    requireFitting(input)
    if ((await findUser(this.#database, userId)) === undefined) throw NotFound({ message: 'There is no such user.' })
    const reference = `correction:${uuidv7(this.#clock.now())}`
    const about = { userId, amount, reason, actorId, reference }
    await this.#database.transaction(async (sql) => {
      if (accountKind === 'credits') {
        await this.#credits.correct(sql, { ...about, expiresAt: instant(expiresAt) ?? null })
        return
      }
      const lines = [
        { account: walletOf(userId, currency), amount },
        { account: houseAccount('adjustments', currency), amount: -amount },
      ]
      await this.#book.post(sql, { kind: 'correction', reference, reason, actorId, lines })
    })
    const written = await ownedLines.row(this.#database, { ownerId: userId, limit: 1, reference })
    if (written === undefined) throw new Error(`the correction ${reference} was not written`)
    return correctionOf(written)
  }

  async #balances(sql: Sql, ownerId: string): Promise<Money[]> {
    const rows = await ledgerAccounts.find(
      sql,
      { ownerId, kind: 'wallet' },
      { columns: ['unit', 'balance'], orderBy: ['unit asc'] },
    )
    return rows.map(({ balance, unit }) => ({ amount: balance, currency: unit }))
  }
}

interface Parameters {
  readonly limit: number
  readonly ownerId?: string | undefined
  readonly kind?: EntryKind | undefined
  readonly reference?: string | undefined
  /** The id of the line before which the page begins. */
  readonly before?: string | undefined
}

/** Lines of users with their entries, newest first. */
const ownedLines = query({ ledgerAccounts, ledgerEntries, ledgerLines }, (db, $: Parameters) => {
  let found = db
    .selectFrom('ledgerLines as l')
    .innerJoin('ledgerAccounts as a', 'a.id', 'l.accountId')
    .innerJoin('ledgerEntries as e', 'e.id', 'l.entryId')
    .select(['l.id', 'l.amount', 'l.balance', 'l.createdAt', 'a.ownerId', 'a.unit', 'e.kind', 'e.reason', 'e.actorId'])
    .where('a.ownerId', 'is not', null)
    .orderBy('l.id', 'desc')
    .limit($.limit)
  if ($.ownerId !== undefined) found = found.where('a.ownerId', '=', $.ownerId)
  if ($.kind !== undefined) found = found.where('e.kind', '=', $.kind)
  if ($.reference !== undefined) found = found.where('e.reference', '=', $.reference)
  return $.before === undefined ? found : found.where('l.id', '<', $.before)
})

interface OwnedLine {
  readonly id: string
  readonly amount: number
  readonly balance: number | null
  readonly createdAt: string
  readonly ownerId: string | null
  readonly unit: string
  readonly kind: EntryKind
  readonly reason: string | null
  readonly actorId: string | null
}

function viewOf({ amount, balance, createdAt, id, kind, reason, unit }: OwnedLine): WalletEntryData {
  const held = unit === CREDIT ? ({ accountKind: 'credits', currency: null } as const) : walletIn(unit)
  return { _id: id, ...held, kind, amount, balance: balance ?? 0, reason, createdAt }
}

function walletIn(currency: string) {
  return { accountKind: 'wallet' as const, currency }
}

function correctionOf(line: OwnedLine): CorrectionData {
  return { ...viewOf(line), userId: line.ownerId ?? '', actorId: line.actorId }
}

/** @throws AppError validation_failed for fields that do not fit the account */
function requireFitting({ accountKind, amount, currency, expiresAt }: NewCorrectionData): void {
  const fail = (path: string, message: string) => {
    throw ValidationFailed({ errors: [{ path, code: 'invalid', message }] })
  }
  if (amount === 0) fail('/body/amount', 'must not be 0')
  if (accountKind === 'wallet' && currency === undefined) fail('/body/currency', 'is required for the wallet')
  if (accountKind === 'credits' && currency !== undefined) fail('/body/currency', 'is only for the wallet')
  if (expiresAt !== undefined && (accountKind === 'wallet' || amount < 0)) {
    fail('/body/expiresAt', 'is only for credits that are added')
  }
}

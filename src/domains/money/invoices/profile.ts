import type { Caller } from '../../../core/caller.ts'
import type { Clock } from '../../../core/clock.ts'
import { ValidationFailed } from '../../../core/errors.ts'
import { requireVersion, type IfMatch } from '../../../core/precondition.ts'
import type { Sql } from '../../../core/sql.ts'
import type { Database } from '../../../db/database.ts'
import { findUser } from '../../identity/users/index.ts'
import { BillingProfileNeeded } from '../payments/index.ts'
import type { Party } from './content.ts'
import type { BillingProfileData, ProfileField, ProfileInput } from './schemas.ts'
import { billingProfiles } from './tables.ts'
import type { TaxBuyer } from './tax/tax.ts'
import { isInEu } from './tax/rates.ts'
import { isVatNumber, normalizeVatNumber } from './tax/vat-numbers.ts'

/** Who invoices of users are for. */
export class BillingProfiles {
  readonly #database: Database
  readonly #clock: Clock

  constructor(database: Database, clock: Clock) {
    this.#database = database
    this.#clock = clock
  }

  /** The profile of a user. Until it is saved, it has the name of the user and no address. */
  async of(sql: Sql, userId: string): Promise<BillingProfileData> {
    const row = await billingProfiles.first(sql, { userId })
    if (row !== undefined) {
      const { city, country, kind, name, postalCode, street, vatNumber, version } = row
      return { kind, name, street, postalCode, city, country, vatNumber, version }
    }
    const user = await findUser(sql, userId)
    const name = user?.name ?? ''
    return { kind: 'person', name, street: '', postalCode: '', city: '', country: null, vatNumber: null, version: 0 }
  }

  profile({ userId }: Caller): Promise<BillingProfileData> {
    return this.of(this.#database, userId)
  }

  /** @throws AppError validation_failed for a VAT number that cannot be one, precondition_failed */
  async save({ userId }: Caller, input: ProfileInput, ifMatch: IfMatch): Promise<BillingProfileData> {
    const vatNumber = checkedVatNumber(input)
    return this.#database.transaction(async (tx) => {
      const now = new Date(this.#clock.now())
      const { kind, name, street, postalCode, city, country } = input
      const given = { kind, name, street, postalCode, city, country, vatNumber }
      const first = { userId, ...given, version: 0, createdAt: now, updatedAt: now }
      await billingProfiles.insert(tx, first, { ignoreConflict: true })
      const [row] = await billingProfiles.find(tx, { userId }, { lock: 'for update' })
      const version = row?.version ?? 0
      requireVersion(ifMatch, version)
      await billingProfiles.update(tx, { userId }, { ...given, version: version + 1, updatedAt: now })
      return { ...given, version: version + 1 }
    })
  }

  /** The buyer on a new invoice. */
  async buyer(sql: Sql, userId: string): Promise<Party> {
    const [profile, user] = await Promise.all([this.of(sql, userId), findUser(sql, userId)])
    const { city, country, name, postalCode, street } = profile
    const vatNumber = profile.kind === 'business' ? profile.vatNumber : null
    const email = user?.email ?? null
    return { name: name === '' ? (email ?? '') : name, street, city, postalCode, country, vatNumber, email }
  }

  /** The fields that a purchase needs and the profile of a user lacks. */
  async missing(sql: Sql, userId: string): Promise<ProfileField[]> {
    return missingOf(await this.of(sql, userId))
  }

  /**
   * Call it before something is sold.
   * @throws AppError billing_profile_needed
   */
  async require(sql: Sql, userId: string): Promise<void> {
    const missing = await this.missing(sql, userId)
    if (missing.length === 0) return
    const message = `The billing profile needs: ${missing.join(', ')}. Complete it with PUT /api/billing/profile.`
    throw BillingProfileNeeded({ message, details: { missing, path: 'PUT /api/billing/profile', page: '/billing' } })
  }

  /** What the tax of a user depends on; undefined until the country is known. */
  async taxBuyer(sql: Sql, userId: string): Promise<TaxBuyer | undefined> {
    const row = await billingProfiles.first(sql, { userId }, { columns: ['kind', 'country', 'vatNumber'] })
    return row === undefined || row.country === null ? undefined : { ...row, country: row.country }
  }
}

/**
 * What an invoice must have of its buyer: the country (BR-11 of EN 16931), and the name and address of a business
 * (article 226 of Directive 2006/112/EC).
 */
function missingOf({ city, country, kind, name, street }: BillingProfileData): ProfileField[] {
  return [
    ...(country === null ? (['country'] as const) : []),
    ...(kind === 'person'
      ? []
      : Object.entries({ name, street, city }).flatMap(([field, value]) =>
          value === '' ? [field as ProfileField] : [],
        )),
  ]
}

function checkedVatNumber({ country, kind, vatNumber }: ProfileInput): string | null {
  const normalized = normalizeVatNumber(vatNumber ?? '')
  if (normalized === '') return null
  const fail = (message: string) =>
    ValidationFailed({ errors: [{ path: '/body/vatNumber', code: 'invalid', message }] })
  if (kind === 'person') throw fail('is only for businesses')
  if (country === null) throw fail('needs the country')
  if (isInEu(country) && !isVatNumber(normalized, country)) throw fail(`is not a VAT number of ${country}`)
  return normalized
}

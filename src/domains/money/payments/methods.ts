import type { Caller } from '../../../core/caller.ts'
import type { Clock } from '../../../core/clock.ts'
import type { AppError } from '../../../core/error.ts'
import { NotFound } from '../../../core/errors.ts'
import { uuidv7 } from '../../../tools/id.ts'
import { pageOf, type PageRequest } from '../../../core/page.ts'
import type { PageResult } from '../../../core/reply.ts'
import type { Sql, Transaction } from '../../../core/sql.ts'
import type { Database } from '../../../db/database.ts'
import { not } from '../../../db/condition.ts'
import { findUser } from '../../identity/users/index.ts'
import type { PlanService } from '../plans/index.ts'
import { PaymentMethodNeeded } from './errors.ts'
import type { Gateways } from './gateways/directory.ts'
import type { Gateway, GatewayMethod, GatewayVault } from './gateways/gateway.ts'
import type { PaymentMethodData, PaymentMethodSetupData } from './schemas.ts'
import { gatewayCustomers, paymentMethods, type MethodRow } from './tables.ts'

/** Finds out whether a user's only payment method must stay. */
export type MethodUse = (sql: Sql, userId: string) => Promise<boolean>

/** Finds out why a user cannot save a method. Runs with the user's subscription locked. */
export type MethodCheck = (
  sql: Sql,
  userId: string,
  method: Pick<MethodRow, 'gateway' | 'fingerprint'>,
) => Promise<AppError | undefined>

/** The payment methods that users have saved at gateways. Card numbers never come here. */
export class PaymentMethods {
  readonly #database: Database
  readonly #clock: Clock
  readonly #gateways: Gateways
  readonly #plans: Pick<PlanService, 'lockLimitsOf'>
  readonly #uses: MethodUse[] = []
  readonly #checks: MethodCheck[] = []

  constructor(database: Database, clock: Clock, gateways: Gateways, plans: Pick<PlanService, 'lockLimitsOf'>) {
    this.#database = database
    this.#clock = clock
    this.#gateways = gateways
    this.#plans = plans
  }

  /** Adds a reason for which the only method of a user must stay, such as recurring billing. */
  registerUse(use: MethodUse): void {
    this.#uses.push(use)
  }

  /** Adds a reason for which a method cannot be saved. */
  registerCheck(check: MethodCheck): void {
    this.#checks.push(check)
  }

  /** A page of the caller's methods, newest first. */
  async list({ userId }: Pick<Caller, 'userId'>, page: PageRequest): Promise<PageResult<PaymentMethodData>> {
    const rows = await paymentMethods.page(this.#database, { userId }, page)
    return pageOf(rows, page.limit, (row) => row, viewOf)
  }

  /** All methods of a user. */
  allOf(sql: Sql, userId: string): Promise<MethodRow[]> {
    return paymentMethods.find(sql, { userId })
  }

  /** The default method of a user, if there is one. */
  defaultOf(sql: Sql, userId: string): Promise<MethodRow | undefined> {
    return paymentMethods.first(sql, { userId, isDefault: true })
  }

  /** @throws AppError not_found */
  async find(sql: Sql, userId: string, id: string): Promise<MethodRow> {
    const row = await paymentMethods.first(sql, { id, userId })
    if (row === undefined) throw NotFound()
    return row
  }

  /** Begins to save a method. The caller's browser ends it with the client secret. */
  async setUp({ userId }: Pick<Caller, 'userId'>, key: string): Promise<PaymentMethodSetupData> {
    const { config, vault } = this.#gateways.vaultOf(key)
    const setup = await this.#gateways.ask(async () => {
      const customer = await this.customer(userId, key, vault)
      return vault.setUp(customer, uuidv7(this.#clock.now()))
    })
    return { setupReference: setup.reference, clientSecret: setup.clientSecret, publicKey: config.publicKey }
  }

  /**
   * Saves the method of a set-up that the caller's browser has ended. Repeating it changes nothing.
   * @throws AppError not_found for a set-up of somebody else, or one that has not ended; trial_used
   */
  async save({ userId }: Pick<Caller, 'userId'>, key: string, setupReference: string): Promise<PaymentMethodData> {
    const saved = await this.saveSetup(key, setupReference)
    if (saved?.userId !== userId) throw NotFound()
    return viewOf(saved)
  }

  /**
   * Saves the method of a set-up. Undefined when it has not ended, or its customer is unknown.
   * @throws AppError when a check refuses it, such as trial_used
   */
  async saveSetup(key: string, setupReference: string): Promise<MethodRow | undefined> {
    const { vault } = this.#gateways.vaultOf(key)
    const setup = await this.#gateways.ask(() => vault.retrieveSetup(setupReference))
    if (setup?.status !== 'succeeded' || setup.method === undefined || setup.customer === null) return undefined
    const { customer: reference, method } = setup
    const owner = await gatewayCustomers.first(this.#database, { gateway: key, reference })
    if (owner === undefined) return undefined
    return this.#database.transaction(async (tx) => {
      await this.#plans.lockLimitsOf(tx, owner.userId)
      const refusal = await this.refusalOf(tx, owner.userId, key, method)
      if (refusal !== undefined) throw refusal
      return this.keep(tx, owner.userId, key, method)
    })
  }

  /** Why a user cannot save a method. Call it with the user's subscription locked. */
  async refusalOf(
    tx: Transaction,
    userId: string,
    gateway: string,
    { fingerprint }: GatewayMethod,
  ): Promise<AppError | undefined> {
    for (const check of this.#checks) {
      const refusal = await check(tx, userId, { gateway, fingerprint })
      if (refusal !== undefined) return refusal
    }
    return undefined
  }

  /** Stores a method. The first one becomes the default. Call it with the user's subscription locked. */
  async keep(tx: Transaction, userId: string, gateway: string, method: GatewayMethod): Promise<MethodRow> {
    const { reference } = method
    const known = await paymentMethods.first(tx, { gateway, reference })
    if (known !== undefined) return known
    const hasDefault = await paymentMethods.exists(tx, { userId, isDefault: true })
    const now = this.#clock.now()
    const at = new Date(now).toISOString()
    const row = { id: uuidv7(now), userId, gateway, ...method, isDefault: !hasDefault, createdAt: at, updatedAt: at }
    await paymentMethods.insert(tx, row)
    return row
  }

  /**
   * Deletes a method. If it was the default, the newest other one becomes the default.
   * @throws AppError not_found; payment_method_needed for the only one while it is in use
   */
  async delete({ userId }: Pick<Caller, 'userId'>, id: string): Promise<void> {
    const row = await this.#database.transaction(async (tx) => {
      await this.#plans.lockLimitsOf(tx, userId)
      const found = await this.find(tx, userId, id)
      const [next] = await paymentMethods.find(tx, { userId, id: not(id) }, { orderBy: ['id desc'], limit: 1 })
      if (next === undefined) {
        for (const use of this.#uses) if (await use(tx, userId)) throw PaymentMethodNeeded()
      }
      await paymentMethods.delete(tx, { id })
      if (found.isDefault && next !== undefined) await this.#makeDefault(tx, next.id)
      return found
    })
    // The row is gone, so nothing can be charged any more. A method that stays at the gateway does no harm.
    const vault = this.#gateways.find(row.gateway)?.vault
    await vault?.detach(row.reference).catch(() => {})
  }

  /** @throws AppError not_found */
  async setDefault({ userId }: Pick<Caller, 'userId'>, id: string): Promise<PaymentMethodData> {
    return this.#database.transaction(async (tx) => {
      await this.#plans.lockLimitsOf(tx, userId)
      const row = await this.find(tx, userId, id)
      const before = await this.defaultOf(tx, userId)
      if (before?.id === id) return viewOf(row)
      if (before !== undefined) {
        await paymentMethods.update(tx, { id: before.id }, { isDefault: false, updatedAt: this.#now() })
      }
      return viewOf(await this.#makeDefault(tx, id))
    })
  }

  /** The user's customer at a gateway, which is made when there is none. */
  async customer(userId: string, gateway: Gateway['key'], vault: GatewayVault): Promise<string> {
    const known = await gatewayCustomers.first(this.#database, { userId, gateway })
    if (known !== undefined) return known.reference
    const user = await findUser(this.#database, userId)
    if (user === undefined) throw NotFound()
    const reference = await vault.customer({ id: userId, email: user.email, name: user.name })
    const row = { userId, gateway, reference, createdAt: this.#now() }
    await gatewayCustomers.insert(this.#database, row, { ignoreConflict: true })
    const stored = await gatewayCustomers.first(this.#database, { userId, gateway })
    return stored?.reference ?? reference
  }

  async #makeDefault(tx: Transaction, id: string): Promise<MethodRow> {
    const [row] = await paymentMethods.updateReturning(tx, { id }, { isDefault: true, updatedAt: this.#now() })
    return row as MethodRow
  }

  #now(): Date {
    return new Date(this.#clock.now())
  }
}

function viewOf(row: MethodRow): PaymentMethodData {
  const { brand, createdAt, expiryMonth, expiryYear, gateway, id, isDefault, kind, last4, updatedAt } = row
  return { _id: id, gateway, kind, brand, last4, expiryMonth, expiryYear, isDefault, createdAt, updatedAt }
}

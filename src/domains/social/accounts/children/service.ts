import type { Clock } from '../../../../core/clock.ts'
import { NotFound, ValidationFailed } from '../../../../core/errors.ts'
import type { Sql } from '../../../../core/sql.ts'
import type { Turn } from '../../../../core/turn.ts'
import { anyOf } from '../../../../db/condition.ts'
import type { ConfiguredPlatform, PlatformDirectory } from '../../../../platforms/directory.ts'
import { PlatformError } from '../../../../platforms/error-kinds.ts'
import type {
  AccountContext,
  ChildAccount,
  CreatorWish,
  Grant,
  NewPlace,
  Place,
} from '../../../../platforms/platform.ts'
import type { AccountCapabilities } from '../capabilities.ts'
import { NotSupported } from '../errors.ts'
import { sealChild, type SealedGrant } from '../grants.ts'
import { openUsable } from '../open-account.ts'
import type { SocialAccountData } from '../schemas.ts'
import type { AccountSeats } from '../seats.ts'
import { needsSeat, type SocialAccounts } from '../service.ts'
import { asAppError } from '../platform-calls.ts'
import { socialAccounts, type SocialAccountRow } from '../tables.ts'
import type { TokenRefresher } from '../token-refresher.ts'
import type { CredentialVault } from '../vault.ts'
import type { ChildAccountData } from './schemas.ts'

interface ChildrenNeeds {
  readonly refresher: TokenRefresher
  readonly directory: PlatformDirectory
  readonly vault: CredentialVault
  readonly accounts: SocialAccounts
  readonly seats: AccountSeats
  readonly capabilities: AccountCapabilities
}

/** The pages and organizations of logins, and the boards of accounts. */
export class AccountChildren {
  readonly #sql: Sql
  readonly #clock: Clock
  readonly #with: ChildrenNeeds

  constructor(sql: Sql, clock: Clock, needs: ChildrenNeeds) {
    this.#sql = sql
    this.#clock = clock
    this.#with = needs
  }

  /**
   * The pages or organizations that a login manages. Connected ones have the id of their account.
   * @throws AppError not_found, not_supported_by_platform, account_not_connected, platform_refused, platform_unavailable
   */
  async list(loginId: string, platform: string): Promise<ChildAccountData[]> {
    const { children, row } = await this.#load(loginId, platform)
    const connected = await this.#connected(this.#sql, row, children)
    return children.map(({ blocked, profile }) => {
      const account = connected.get(profile.remoteId)
      const { avatarUrl, handle, kind, name, remoteId, url } = profile
      return { remoteId, name, handle, avatarUrl, url, kind, blocked, accountId: account?.id ?? null }
    })
  }

  /**
   * Reads the chosen pages from the platform, before the turn that connects them.
   * @param field the name of the field with the ids, for errors
   * @throws AppError validation_failed for an id that is unknown or blocked, and as `list`
   */
  async prepare(
    loginId: string,
    platform: string,
    { field, ids }: { readonly field: string; readonly ids: readonly string[] },
  ): Promise<readonly SealedGrant[]> {
    const { children, entry, row } = await this.#load(loginId, platform)
    const byId = new Map(children.map((child) => [child.profile.remoteId, child]))
    const errors = ids.flatMap((id, index) => {
      const path = `/body/${field}/${index}`
      const child = byId.get(id)
      if (child === undefined) return [{ path, code: 'unknown', message: 'is not managed by this login' }]
      return child.blocked === null ? [] : [{ path, code: 'blocked', message: `cannot be connected: ${child.blocked}` }]
    })
    if (errors.length > 0) throw ValidationFailed({ errors })
    const { vault } = this.#with
    const chosen = [...new Set(ids)].map((id) => byId.get(id)!)
    return Promise.all(chosen.map((child) => sealChild(vault, this.#clock, entry.platform, child, row.sandbox)))
  }

  /**
   * Connects pages. Pages that are connected already get a new credential.
   * @throws AppError plan_limit_reached with the numbers; none is connected then
   */
  async connect(
    turn: Turn,
    loginId: string,
    grants: readonly SealedGrant[],
    userId: string,
  ): Promise<SocialAccountData[]> {
    const { accounts, seats } = this.#with
    const login = await accounts.find(turn.sql, loginId)
    const known = await this.#connected(turn.sql, login, grants)
    const more = grants.filter(({ profile }) => needsSeat(known.get(profile.remoteId)))
    if (more.length > 0) await seats.requireRoom(turn, more.length)
    const connected: SocialAccountData[] = []
    for (const grant of grants) connected.push(await accounts.connect(turn, grant, { userId, loginId }))
    return connected
  }

  /**
   * New credentials for the connected pages of a login that was signed in to again. The tokens of pages often end with
   * the session of their login.
   */
  async renew(entry: ConfiguredPlatform, grant: Grant, workspaceId: string): Promise<readonly SealedGrant[]> {
    const { platform } = entry
    if (platform.children === undefined) return []
    const { remoteId } = grant.profile
    const login = await socialAccounts.first(this.#sql, { workspaceId, platform: platform.key, remoteId })
    if (login === undefined) return []
    const own = await socialAccounts.find(
      this.#sql,
      { loginId: login.id, sharesLogin: false, removedAt: null },
      { columns: ['remoteId'] },
    )
    if (own.length === 0) return []
    const context = { ...this.#with.directory.context(entry), credential: grant.credential, remoteId }
    const children = await platform.children(context).catch((error: unknown) => {
      // The login is connected all the same. Its pages keep the credentials that they have.
      if (error instanceof PlatformError) return []
      throw error
    })
    const kept = new Set(own.map((one) => one.remoteId))
    const renewed = children.filter(({ blocked, profile }) => blocked === null && kept.has(profile.remoteId))
    return Promise.all(renewed.map((child) => sealChild(this.#with.vault, this.#clock, platform, child, login.sandbox)))
  }

  /** What a creator can do, and what of a wish it cannot. @throws AppError as `list` */
  async checkCreator(id: string, platform: string, wish: CreatorWish) {
    const { entry } = await this.#open(id, platform)
    const { creatorProblems } = entry.platform
    if (creatorProblems === undefined) throw unsupported(entry)
    const info = await this.#with.capabilities.of(id)
    return { info, problems: creatorProblems(info, wish) }
  }

  /** The boards, chats or channels of an account. @throws AppError as `list` */
  async places(id: string, platform: string): Promise<readonly Place[]> {
    const { context, entry } = await this.#open(id, platform)
    const { places } = entry.platform
    if (places === undefined) throw unsupported(entry)
    return asAppError(() => places(context))
  }

  /** Creates a board. @throws AppError as `list` */
  async createPlace(id: string, platform: string, place: NewPlace): Promise<Place> {
    const { context, entry } = await this.#open(id, platform)
    const { createPlace } = entry.platform
    if (createPlace === undefined) throw unsupported(entry)
    return asAppError(() => createPlace(context, place))
  }

  async #load(loginId: string, platform: string) {
    const { context, entry, row } = await this.#open(loginId, platform)
    const { children } = entry.platform
    if (children === undefined || row.loginId !== null) throw unsupported(entry)
    return { row, entry, children: await asAppError(() => children(context)) }
  }

  async #open(
    id: string,
    platform: string,
  ): Promise<{ row: SocialAccountRow; entry: ConfiguredPlatform; context: AccountContext }> {
    const { directory, refresher } = this.#with
    const opened = await openUsable(this.#sql, refresher, directory, id)
    const entry = directory.find(opened.row.platform)
    if (entry === undefined) throw NotFound()
    if (opened.row.platform !== platform) {
      const wanted = directory.require(platform).platform.title
      throw NotSupported({ message: `This is a ${entry.platform.title} account, not a ${wanted} account.` })
    }
    return { ...opened, entry }
  }

  async #connected(
    sql: Sql,
    login: SocialAccountRow,
    children: readonly Pick<ChildAccount, 'profile'>[],
  ): Promise<Map<string, SocialAccountRow>> {
    const { platform, workspaceId } = login
    const remoteId = anyOf(children.map(({ profile }) => profile.remoteId))
    const rows = await socialAccounts.find(sql, { workspaceId, platform, remoteId, removedAt: null })
    return new Map(rows.map((row) => [row.remoteId, row]))
  }
}

function unsupported({ platform }: ConfiguredPlatform) {
  return NotSupported({ message: `This ${platform.title} account has no such list. Sign in with a personal account.` })
}

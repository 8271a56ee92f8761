import { createHash } from 'node:crypto'
import { MINUTE, type Clock } from '../../../core/clock.ts'
import { AppError } from '../../../core/error.ts'
import { Forbidden, ValidationFailed } from '../../../core/errors.ts'
import { uuidv7 } from '../../../tools/id.ts'
import type { Memberships } from '../../../core/ports.ts'
import { randomBytesOf } from '../../../tools/random.ts'
import { SealedBox } from '../../../tools/sealed-box.ts'
import type { Sql } from '../../../core/sql.ts'
import type { TurnRunner } from '../../../core/system-turn.ts'
import { lessThan } from '../../../db/condition.ts'
import { deleteInBatches } from '../../../db/delete-in-batches.ts'
import type { AccountChildren } from './children/service.ts'
import type { PlatformDirectory } from '../../../platforms/directory.ts'
import type { CallbackOutcome, SignInSecrets } from '../../../platforms/platform.ts'
import { NotSupported } from './errors.ts'
import { sealGrant } from './grants.ts'
import { asAppError, requirePlatform } from './platform-calls.ts'
import type { SocialAccountData } from './schemas.ts'
import { sharedNotice, type SocialAccounts } from './service.ts'
import { signInAttempts, type SignInAttemptRow } from './tables.ts'
import { connectGrant } from './turns.ts'
import type { CredentialVault } from './vault.ts'

const LIFE_MS = 10 * MINUTE

export interface SignInOptions {
  readonly sql: Sql
  readonly clock: Clock
  readonly vault: CredentialVault
  readonly directory: PlatformDirectory
  readonly memberships: Memberships
  readonly turns: TurnRunner
  readonly accounts: SocialAccounts
  readonly children: AccountChildren
  readonly secret: string
  readonly publicUrl: string
  /** Origins that a browser may be redirected to afterwards, besides the server's own. */
  readonly origins: readonly string[]
}

export interface SignInRequest {
  readonly userId: string
  readonly workspaceId: string
  readonly platform: string
  readonly redirectUri?: string
  readonly handle?: string
  readonly instance?: string
  readonly accountId?: string
  /** The cookie of the browser, if it has one from an earlier sign-in. */
  readonly cookie: string | undefined
}

export interface StartedSignIn {
  readonly url: string
  readonly state: string
  readonly expiresAt: string
  /** The cookie that binds the sign-in to the browser. */
  readonly cookie: string
}

/** Parameters of a callback. */
export type CallbackParams = Readonly<Record<string, string>>

export type SignInOutcome =
  | { readonly kind: 'connected'; readonly account: SocialAccountData; readonly notice: string | null }
  | {
      readonly kind:
        | 'denied'
        | 'platform_error'
        | 'unknown_link'
        | 'used_link'
        | 'expired_link'
        | 'other_browser'
        | 'refused'
      readonly message: string
    }

export interface FinishedSignIn {
  readonly outcome: SignInOutcome
  /** Where to redirect the browser; null for Crier's own page. */
  readonly returnTo: string | null
}

interface KeptSecrets {
  readonly codeVerifier: string
  readonly platform: SignInSecrets
  readonly accountId?: string | undefined
}

/**
 * Signing in at a platform (OAuth 2.0). Each link works once, within ten minutes, for the user and workspace that
 * requested it, and only in the browser that requested it. A link from another person cannot connect the wrong account.
 */
export class SignIns {
  readonly #options: SignInOptions
  readonly #box: SealedBox

  constructor(options: SignInOptions) {
    this.#options = options
    this.#box = new SealedBox(options.secret, 'sign-ins at platforms')
  }

  /** @throws AppError not_found, platform_not_configured, not_supported_by_platform, platform_refused, platform_unavailable */
  async begin(request: SignInRequest): Promise<StartedSignIn> {
    const { clock, directory, sql } = this.#options
    const entry = requirePlatform(directory, request.platform)
    const { oauth, title } = entry.platform
    if (oauth === undefined) {
      throw NotSupported({ message: `${title} has no sign-in page. Connect it with POST /api/social-accounts.` })
    }
    this.#requireOwnOrigin(request.redirectUri)
    const ownState = randomBytesOf(32).toString('base64url')
    const codeVerifier = randomBytesOf(48).toString('base64url')
    const server = request.instance ?? request.handle
    const { redirectUri, started } = await asAppError(async () => {
      const callback = directory.redirectUri(entry.platform)
      const call = { state: ownState, redirectUri: callback, codeVerifier, ...(server !== undefined && { server }) }
      return { redirectUri: callback, started: await oauth.authorize(directory.context(entry), call) }
    })
    const state = started.state ?? ownState
    const now = clock.now()
    const cookie =
      request.cookie !== undefined && /^[\w-]{43}$/.test(request.cookie)
        ? request.cookie
        : randomBytesOf(32).toString('base64url')
    const kept: KeptSecrets = { codeVerifier, platform: started.secrets, accountId: request.accountId }
    const expiresAt = new Date(now + LIFE_MS).toISOString()
    await signInAttempts.insert(sql, {
      id: uuidv7(now),
      stateHash: hashOf(state),
      workspaceId: request.workspaceId,
      userId: request.userId,
      platform: request.platform,
      browserHash: hashOf(cookie),
      secretsSealed: this.#box.seal(JSON.stringify(kept)),
      redirectUri,
      returnTo: request.redirectUri ?? null,
      expiresAt,
      usedAt: null,
      createdAt: new Date(now),
    })
    return { url: started.url, state, expiresAt, cookie }
  }

  /** Handles the browser's return from a platform. Never throws errors that a user or platform can cause. */
  async finish(platform: string, params: CallbackParams, cookie: string | undefined): Promise<FinishedSignIn> {
    const { clock, sql } = this.#options
    const attempt = await signInAttempts.first(sql, { stateHash: hashOf(params['state'] ?? '') })
    const refuse = (kind: Exclude<SignInOutcome['kind'], 'connected'>, message: string): FinishedSignIn => ({
      outcome: { kind, message },
      // Never redirects a browser that did not request the link.
      returnTo: kind === 'other_browser' ? null : (attempt?.returnTo ?? null),
    })
    if (attempt === undefined || attempt.platform !== platform) {
      return refuse('unknown_link', 'This sign-in is unknown. Start again where you wanted to connect the account.')
    }
    if (cookie === undefined || hashOf(cookie) !== attempt.browserHash) {
      return refuse(
        'other_browser',
        'This sign-in was started in another browser. Start again in this one, or open the link in the other one.',
      )
    }
    if (Date.parse(attempt.expiresAt) <= clock.now()) {
      return refuse('expired_link', 'This sign-in took longer than ten minutes. Start again.')
    }
    const used = await signInAttempts.update(sql, { id: attempt.id, usedAt: null }, { usedAt: new Date(clock.now()) })
    if (used === 0) {
      return refuse('used_link', 'This sign-in was finished already. Look at your accounts, or start again.')
    }
    try {
      return { outcome: await this.#outcome(attempt, params), returnTo: attempt.returnTo }
    } catch (error) {
      if (error instanceof AppError && error.status !== 500) return refuse('refused', error.message)
      throw error
    }
  }

  async #outcome(attempt: SignInAttemptRow, params: CallbackParams): Promise<SignInOutcome> {
    const { accounts, children, clock, directory, memberships, sql, turns, vault } = this.#options
    const entry = requirePlatform(directory, attempt.platform)
    const { oauth, title } = entry.platform
    const said: CallbackOutcome = oauth?.callback?.(params) ?? params
    const { code, error } = said
    if (error !== undefined) {
      const denied = /denied|cancel/i.test(error)
      const description = (said.error_description ?? error).slice(0, 300)
      return denied
        ? {
            kind: 'denied',
            message: `You did not allow Crier to use your ${title} account. Nothing was connected. To connect it, start again and allow the access.`,
          }
        : { kind: 'platform_error', message: `${title} reported an error: ${description}. Nothing was connected.` }
    }
    if (code === undefined || code === '' || oauth === undefined) {
      return { kind: 'platform_error', message: `${title} sent no code. Nothing was connected. Start again.` }
    }
    const member = await memberships.find(attempt.workspaceId, attempt.userId)
    if (member === undefined || !member.scopes.has('accounts:manage')) {
      throw Forbidden({ message: 'You may no longer connect accounts to this workspace.' })
    }
    const secrets = JSON.parse(this.#box.open(attempt.secretsSealed)) as KeptSecrets
    const grant = await asAppError(() =>
      oauth.exchange(directory.context(entry), {
        code,
        redirectUri: attempt.redirectUri,
        codeVerifier: secrets.codeVerifier,
        secrets: secrets.platform,
        params,
      }),
    )
    const account = await turns.system(attempt.workspaceId, connectGrant, {
      grant: await sealGrant(vault, clock, entry.platform, grant),
      userId: attempt.userId,
      expected: secrets.accountId,
      children: await children.renew(entry, grant, attempt.workspaceId),
    })
    return { kind: 'connected', account, notice: sharedNotice(await accounts.countElsewhere(sql, account)) }
  }

  /** Deletes attempts a day after they expired. Until then, a late callback gets an explanation. */
  async purge(): Promise<number> {
    const { clock, sql } = this.#options
    const expiresAt = lessThan(new Date(clock.now() - 24 * 60 * MINUTE).toISOString())
    return deleteInBatches(signInAttempts, sql, { expiresAt })
  }

  #requireOwnOrigin(redirectUri: string | undefined): void {
    if (redirectUri === undefined) return
    const { origins, publicUrl } = this.#options
    const target = URL.parse(redirectUri)
    const allowed = [new URL(publicUrl).origin, ...origins.filter((origin) => origin !== '*')]
    if (target !== null && target.username === '' && allowed.includes(target.origin)) return
    throw ValidationFailed({
      errors: [
        {
          path: '/query/redirectUri',
          code: 'origin',
          message: `must be a page on ${allowed.join(' or ')}. The operator allows other origins with CORS_ORIGINS`,
        },
      ],
    })
  }
}

function hashOf(text: string): string {
  return createHash('sha256').update(text).digest('base64url')
}

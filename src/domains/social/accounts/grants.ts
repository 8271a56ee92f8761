import type { Clock } from '../../../core/clock.ts'
import type { ChildAccount, Credential, Grant, Platform, Profile } from '../../../platforms/platform.ts'
import type { CredentialVault, SealedCredential } from './vault.ts'

/** A grant in the form passed to the turn that stores it: plain JSON, with the credential encrypted. */
export interface SealedGrant {
  readonly platform: string
  readonly profile: Profile
  readonly scopes: readonly string[] | null
  readonly missingScopes: readonly string[]
  /** Milliseconds since the epoch. */
  readonly expiresAt: number | null
  readonly refreshAt: number | null
  /** Null if the account is used with the credential of its login. */
  readonly credential: SealedCredential | null
  readonly sandbox: boolean
}

/** Encrypts a grant, and derives the facts that the user sees. */
export async function sealGrant(
  vault: CredentialVault,
  clock: Clock,
  platform: Platform,
  { credential, profile, scopes }: Grant,
  sandbox = false,
): Promise<SealedGrant> {
  const wanted = Object.keys(platform.oauth?.scopePurposes ?? {})
  return {
    platform: platform.key,
    profile,
    scopes,
    missingScopes: scopes === null ? [] : wanted.filter((scope) => !covers(scopes, scope)),
    ...lifetimeOf(platform, credential, clock.now()),
    credential: await vault.seal(credential),
    sandbox,
  }
}

/** Encrypts the grant of a page or organization. */
export async function sealChild(
  vault: CredentialVault,
  clock: Clock,
  platform: Platform,
  { credential, profile }: ChildAccount,
  sandbox: boolean,
): Promise<SealedGrant> {
  const times = credential === null ? NO_TIMES : lifetimeOf(platform, credential, clock.now())
  return {
    platform: platform.key,
    profile,
    scopes: null,
    missingScopes: [],
    ...times,
    credential: credential === null ? null : await vault.seal(credential),
    sandbox,
  }
}

const NO_TIMES = { expiresAt: null, refreshAt: null }

/** `write` covers `write:media`. */
function covers(granted: readonly string[], scope: string): boolean {
  return granted.includes(scope) || granted.includes(scope.split(':')[0] ?? scope)
}

/** The part of a token's life after which it is renewed: 70 to 85 %, at random, so that accounts spread out. */
const FIRST = 0.7
const SPREAD = 0.15

/** When the user must act, and when the schedule renews the token. */
export function lifetimeOf(
  platform: Platform,
  { expiresAt, refreshExpiresAt }: Credential,
  now: number,
): { readonly expiresAt: number | null; readonly refreshAt: number | null } {
  if (expiresAt === undefined) return { expiresAt: null, refreshAt: null }
  if (platform.oauth?.refresh === undefined) return { expiresAt, refreshAt: null }
  const refreshAt = now + (expiresAt - now) * (FIRST + Math.random() * SPREAD)
  return { expiresAt: refreshExpiresAt ?? null, refreshAt }
}

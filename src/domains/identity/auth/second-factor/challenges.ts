import { createSigner, createVerifier } from 'fast-jwt'
import { MINUTE, type Clock } from '../../../../core/clock.ts'
import { secretToken } from '../../../../tools/id.ts'
import { SignInExpired } from './errors.ts'
import { keyFor } from '../../../../tools/keys.ts'

const LIFETIME_MS = 5 * MINUTE
const AUDIENCE = 'crier-second-factor'

interface Claims {
  readonly sub: string
  readonly method: string
  readonly jti: string
  /** Milliseconds since the epoch, unlike those of an access token. */
  readonly at: number
  readonly aud: string
}

/** A sign-in whose first factor was right. */
export interface PendingSignIn {
  /** The id of the challenge. */
  readonly id: string
  readonly userId: string
  /** How the first factor was proved: `password` or a provider. */
  readonly method: string
  /** Both in milliseconds since the epoch. */
  readonly startedAt: number
  readonly expiresAt: number
}

/**
 * Tokens of sign-ins that wait for their second factor. They are signed and not stored: a caller who has only a password
 * must not be able to fill a table.
 */
export class SignInChallenges {
  readonly #clock: Clock
  readonly #sign: (claims: Claims) => string
  readonly #verify: (token: string) => Claims

  constructor(secret: string, clock: Clock) {
    this.#clock = clock
    const key = keyFor(secret, 'second factor challenges').bytes
    this.#sign = createSigner<Claims>({ key, algorithm: 'HS256', noTimestamp: true })
    this.#verify = createVerifier({ key, algorithms: ['HS256'], allowedAud: AUDIENCE }) as (token: string) => Claims
  }

  issue(userId: string, method: string): { readonly challenge: string; readonly expiresAt: string } {
    const at = this.#clock.now()
    const challenge = this.#sign({ sub: userId, method, jti: secretToken(16), at, aud: AUDIENCE })
    return { challenge, expiresAt: new Date(at + LIFETIME_MS).toISOString() }
  }

  /** @throws AppError sign_in_expired */
  read(challenge: string): PendingSignIn {
    let claims: Claims
    try {
      claims = this.#verify(challenge)
    } catch (error) {
      throw SignInExpired({ cause: error })
    }
    const expiresAt = claims.at + LIFETIME_MS
    if (this.#clock.now() >= expiresAt) throw SignInExpired()
    return { id: claims.jti, userId: claims.sub, method: claims.method, startedAt: claims.at, expiresAt }
  }
}

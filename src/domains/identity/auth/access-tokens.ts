import { createSigner, createVerifier } from 'fast-jwt'
import type { Clock } from '../../../core/clock.ts'
import { CredentialExpired, InvalidCredential } from '../../../core/errors.ts'
import { isUuid } from '../../../tools/id.ts'
import { keyFor } from '../../../tools/keys.ts'

export const ACCESS_TOKEN_SECONDS = 15 * 60

const ISSUER = 'crier'
const AUDIENCE = 'crier-api'

interface Claims {
  readonly sub: string
  readonly sid: string
  readonly iat: number
  readonly exp: number
  readonly iss: string
  readonly aud: string
}

/** The contents of an access token. */
export interface AccessGrant {
  readonly userId: string
  readonly sessionId: string
  /** Milliseconds since the epoch. */
  readonly expiresAt: number
}

/**
 * Access tokens: JWTs signed with HS256. The key is derived from the installation's secret (HKDF, RFC 5869) and is used
 * for nothing else. Expiry is checked with the service's `Clock`.
 */
export class AccessTokens {
  readonly #clock: Clock
  readonly #sign: (claims: Claims) => string
  readonly #verify: (token: string) => Claims

  constructor(secret: string, clock: Clock) {
    this.#clock = clock
    const key = keyFor(secret, 'access tokens').bytes
    this.#sign = createSigner<Claims>({ key, algorithm: 'HS256' })
    this.#verify = createVerifier({
      key,
      algorithms: ['HS256'],
      allowedIss: ISSUER,
      allowedAud: AUDIENCE,
      requiredClaims: ['sub', 'sid', 'exp', 'iat', 'iss', 'aud'],
      ignoreExpiration: true,
    }) as (token: string) => Claims
  }

  issue(userId: string, sessionId: string): string {
    const iat = Math.floor(this.#clock.now() / 1000)
    return this.#sign({ sub: userId, sid: sessionId, iat, exp: iat + ACCESS_TOKEN_SECONDS, iss: ISSUER, aud: AUDIENCE })
  }

  /** @throws AppError invalid_credential; credential_expired for a genuine token that has expired */
  read(token: string): AccessGrant {
    let claims: Claims
    try {
      claims = this.#verify(token)
    } catch {
      throw InvalidCredential()
    }
    if (!isUuid(claims.sub) || !isUuid(claims.sid)) throw InvalidCredential()
    if (this.#clock.now() >= claims.exp * 1000) throw CredentialExpired()
    return { userId: claims.sub, sessionId: claims.sid, expiresAt: claims.exp * 1000 }
  }
}

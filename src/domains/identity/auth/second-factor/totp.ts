import { randomBytes } from 'node:crypto'
import { Secret, TOTP } from 'otpauth'
import { SECOND } from '../../../../core/clock.ts'

/** What all authenticator apps support; several of them ignore other values. */
const FORMAT = { issuer: 'Crier', algorithm: 'SHA1', digits: 6, period: 30 } as const
/** A code counts one period before and after its own, for clocks that differ and people who type slowly. */
const WINDOW = 1
/** Bytes of a secret (RFC 4226, section 4, R6 recommends 160 bits). */
const SECRET_BYTES = 20

/** A new secret in Base32, as people type it into an app. */
export function newTotpSecret(): string {
  return new Secret({ buffer: Uint8Array.from(randomBytes(SECRET_BYTES)).buffer }).base32
}

/** The `otpauth:` URI that an app reads from a QR code. */
export function totpUri(secret: string, account: string): string {
  return new TOTP({ ...FORMAT, secret, label: account }).toString()
}

/**
 * The time step that a code belongs to (RFC 6238); undefined if it is wrong now.
 * @param nowMs milliseconds since the epoch
 */
export function totpStep(secret: string, code: string, nowMs: number): number | undefined {
  const totp = new TOTP({ ...FORMAT, secret })
  const delta = totp.validate({ token: code, timestamp: nowMs, window: WINDOW })
  return delta === null ? undefined : Math.floor(nowMs / (FORMAT.period * SECOND)) + delta
}

import { TOTP } from 'otpauth'
import type { App } from './app.ts'

/** The code that an authenticator app shows. @param nowMs milliseconds since the epoch */
export function codeOf(secret: string, nowMs: number): string {
  return new TOTP({ secret }).generate({ timestamp: nowMs })
}

/** An account with a second factor. */
export interface SecondFactor {
  readonly secret: string
  readonly recoveryCodes: readonly string[]
}

/** Turns on the second factor of a user with the code of the current time. */
export async function turnOnSecondFactor(
  app: App,
  { apiKey, password }: { readonly apiKey: string; readonly password: string },
): Promise<SecondFactor> {
  const enrolled = await app.send('POST /api/auth/totp', { apiKey, body: { password } })
  if (enrolled.status !== 200) throw new Error(`the authenticator app was not enrolled: ${enrolled.text}`)
  const { secret } = enrolled.body.data as { secret: string }
  const code = codeOf(secret, app.clock.now())
  const confirmed = await app.send('POST /api/auth/totp/confirm', { apiKey, body: { code } })
  if (confirmed.status !== 200) throw new Error(`the second factor was not confirmed: ${confirmed.text}`)
  return { secret, recoveryCodes: (confirmed.body.data as { recoveryCodes: string[] }).recoveryCodes }
}

import { AppError } from '../core/error.ts'
import { InternalError, Unauthorized } from '../core/errors.ts'
import type { Logger } from '../core/log.ts'
import type { Credential } from '../core/ports.ts'

const TOKEN_LENGTH = 4_096

/** What a client handed in as `auth.token`. @throws AppError unauthorized */
export function credentialOf(token: unknown): Credential {
  if (typeof token !== 'string' || token === '' || token.length > TOKEN_LENGTH) {
    throw Unauthorized({ message: 'Connect with auth: { token }, an access token or an API key.' })
  }
  return token.startsWith('crier_') ? { kind: 'api_key', key: token } : { kind: 'token', token }
}

/** What a client is told of a failure; one that was not meant for it is logged. */
export function describe(error: unknown, log: Logger): { code: string; message: string } {
  if (error instanceof AppError) return { code: error.code, message: error.message }
  log.error({ error }, 'a socket could not be admitted')
  return { code: InternalError.code, message: InternalError.message }
}

/** The client sees it as `connect_error`, with `error.data.code`. */
export function refusal(error: unknown, log: Logger): Error {
  const { code, message } = describe(error, log)
  return Object.assign(new Error(message), { data: { code, message } })
}

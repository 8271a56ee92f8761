import { clientAddress } from '../tools/client-address.ts'
import { reasonOf, type TallyLog } from '../tools/tally-log.ts'
import { AppError } from '../core/error.ts'
import { InternalError, Unauthorized } from '../core/errors.ts'
import type { Credential } from '../core/ports.ts'

const TOKEN_LENGTH = 4_096

/** The parts of a socket that give the address of its client. */
interface Connected {
  readonly handshake: {
    readonly address: string
    readonly headers: Readonly<Record<string, string | string[] | undefined>>
  }
}

/** The address of a client. @param trustedProxies how many proxies add to X-Forwarded-For */
export function addressOf({ handshake: { address, headers } }: Connected, trustedProxies: number): string {
  return clientAddress(address, String(headers['x-forwarded-for'] ?? ''), trustedProxies)
}

/** The credential that a client sent as `auth.token`. @throws AppError unauthorized */
export function credentialOf(token: unknown): Credential {
  if (typeof token !== 'string' || token === '' || token.length > TOKEN_LENGTH) {
    throw Unauthorized({ message: 'Connect with auth: { token }, an access token or an API key.' })
  }
  return token.startsWith('crier_') ? { kind: 'api_key', key: token } : { kind: 'token', token }
}

/** The part of an error that a client may see. Internal errors are logged and replaced. */
export function describe(error: unknown, failures: TallyLog): { code: string; message: string } {
  if (error instanceof AppError) return { code: error.code, message: error.message }
  failures.add({
    level: 'error',
    message: 'cannot authenticate a socket',
    reason: reasonOf(error),
    fields: { error },
  })
  return { code: InternalError.code, message: InternalError.message }
}

/** The client sees it as `connect_error`, with `error.data.code`. */
export function refusal(error: unknown, failures: TallyLog): Error {
  const { code, message } = describe(error, failures)
  return Object.assign(new Error(message), { data: { code, message } })
}

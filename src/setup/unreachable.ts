/** A configured service cannot be used at the start. The message names the setting, never its value. */
export class UnreachableError extends Error {
  override readonly name = 'UnreachableError'
}

/**
 * @param settings the names of the settings, such as `DATABASE_URL`
 * @param what the service and its host, such as `PostgreSQL at db:5432`
 * @param error the error of the client library
 */
export function unreachable(settings: string, what: string, error: unknown): UnreachableError {
  return new UnreachableError(`${settings}: ${what} cannot be used: ${reasonOf(error)}`, { cause: error })
}

/** Messages for the error codes of Node's network and of PostgreSQL (appendix A of its manual). */
const REASONS: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'the connection was refused (ECONNREFUSED). Nothing listens there, or a firewall rejects it',
  ECONNRESET: 'the connection was reset (ECONNRESET)',
  ENOTFOUND: 'the host name is not known (ENOTFOUND)',
  EAI_AGAIN: 'the host name could not be resolved (EAI_AGAIN). Check DNS',
  ETIMEDOUT: 'no answer in time (ETIMEDOUT)',
  ESOCKET: 'the connection failed (ESOCKET)',
  EHOSTUNREACH: 'there is no route to the host (EHOSTUNREACH)',
  ENETUNREACH: 'there is no route to the network (ENETUNREACH)',
  ENOENT: 'there is no such socket (ENOENT)',
  EACCES: 'this user is not allowed to connect (EACCES)',
  SELF_SIGNED_CERT_IN_CHAIN: 'its certificate is signed by an unknown authority',
  DEPTH_ZERO_SELF_SIGNED_CERT: 'its certificate is self-signed',
  '28P01': 'it rejects the user or password',
  '28000': 'it does not allow this user to connect',
  '3D000': 'it has no database with that name',
  '42501': 'this user lacks a privilege',
  '53300': 'it has no free connections',
  '57P03': 'it is starting up',
}

/** The reason of a failed connection: the first readable one of an error and its causes. */
export function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  const { code } = error as NodeJS.ErrnoException
  const inner = error instanceof AggregateError ? (error.errors[0] as unknown) : error.cause
  if (inner instanceof Error && (code === undefined || REASONS[code] === undefined)) return reasonOf(inner)
  const known = REASONS[code ?? '']
  // nodemailer reports most failures with its own codes and puts the system's code in the text.
  const named = known === undefined || code === 'ESOCKET' ? /\b(E[A-Z_]{5,})\b/.exec(error.message)?.[1] : undefined
  return REASONS[named ?? ''] ?? known ?? (error.message || error.name)
}

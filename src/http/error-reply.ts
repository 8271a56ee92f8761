import { STATUS_CODES } from 'node:http'
import { AppError } from '../core/error.ts'
import { InternalError } from '../core/errors.ts'

export interface ErrorReply {
  readonly status: number
  readonly headers: [string, string][]
  readonly body: string
}

/** Converts anything that was thrown to the error that the caller sees. Internal errors become `internal_error`. */
export function publicError(error: unknown): AppError {
  return error instanceof AppError ? error : InternalError({ cause: error })
}

/**
 * Writes an error as the common error body, or as an RFC 9457 problem if the client accepts one.
 * @param isAdmin whether a platform administrator gets it, who also sees the hint for operators
 */
export function errorReply(
  error: AppError,
  accept: string,
  requestId: string,
  publicUrl: string,
  isAdmin = false,
): ErrorReply {
  const docUrl = `${publicUrl}/docs/errors#${error.code}`
  const headers: [string, string][] = []
  if (error.status === 401) headers.push(['WWW-Authenticate', 'Bearer'])
  if (error.retryAfter !== undefined) headers.push(['Retry-After', String(error.retryAfter)])
  // RFC 9110, section 15.5.17.
  if (error.status === 416) headers.push(['Content-Range', `bytes */${String(error.details?.['size'])}`])
  // JSON leaves out what an error does not have.
  const common = { errors: error.errors, details: error.details, hint: isAdmin ? error.hint : undefined }
  const asProblem = accept.includes('application/problem+json')
  headers.push(['Content-Type', asProblem ? 'application/problem+json' : 'application/json'])
  const body = asProblem
    ? {
        type: docUrl,
        title: STATUS_CODES[error.status],
        status: error.status,
        detail: error.message,
        instance: `urn:crier:request:${requestId}`,
        code: error.code,
        ...common,
      }
    : { status: false, message: error.message, code: error.code, requestId, docUrl, ...common }
  return { status: error.status, headers, body: JSON.stringify(body) }
}

import type { FaultCode } from '../fault-codes.ts'

/** Why a connection to a destination failed. The message is for people and never contains the key. */
export class Fault extends Error {
  override readonly name = 'Fault'
  readonly code: FaultCode

  constructor(code: FaultCode, message: string, cause?: unknown) {
    super(message, { cause })
    this.code = code
  }
}

const MAX_PEER_TEXT_LENGTH = 200

/**
 * Sanitizes text from a server for logs and people: removes the key and its parts, replaces control characters, and
 * limits the length.
 */
export function sanitizePeerText(text: string, streamKey: string): string {
  let clean = text
  for (const secret of secretsOf(streamKey)) clean = clean.replaceAll(secret, '[key]')
  // eslint-disable-next-line no-control-regex
  clean = clean.replace(/[\p{C}\p{Z}]+/gu, ' ').trim()
  return clean.length > MAX_PEER_TEXT_LENGTH ? `${clean.slice(0, MAX_PEER_TEXT_LENGTH)}…` : clean
}

/** The key, its name, its query, each value of the query, and their URL-encoded forms. The longest come first. */
function secretsOf(streamKey: string): string[] {
  const [name, query] = splitOnce(streamKey, '?')
  const values = query.split('&').map((pair) => splitOnce(pair, '=')[1])
  // Parts of less than four characters are not secret, and replacing them would make the text unreadable.
  const secretParts = [streamKey, name, query, ...values].filter((part) => part.length >= 4)
  const forms = secretParts.flatMap((part) => [part, encodeURIComponent(part), encodeURI(part)])
  if (streamKey.length > 0) forms.push(streamKey)
  return [...new Set(forms)].sort((left, right) => right.length - left.length)
}

function splitOnce(text: string, separator: string): [string, string] {
  const at = text.indexOf(separator)
  return at === -1 ? [text, ''] : [text.slice(0, at), text.slice(at + 1)]
}

const TLS_CODE =
  /^(?:ERR_TLS|ERR_SSL|ERR_OSSL|CERT_|UNABLE_TO_|DEPTH_ZERO|SELF_SIGNED|INVALID_|HOSTNAME_MISMATCH|EPROTO)/

/** Converts a socket error to a fault. A time-out means something else while connecting than afterwards. */
export function faultOfSocketError(error: Error, phase: 'connect' | 'established'): Fault {
  const cause = error instanceof AggregateError ? ((error.errors[0] as Error | undefined) ?? error) : error
  const code = (cause as NodeJS.ErrnoException).code ?? ''
  if (TLS_CODE.test(code)) return new Fault('tls_failed', `TLS failed: ${tlsReason(code)}.`)
  if (code === 'ECONNREFUSED') return new Fault('connection_refused', 'The server refused the connection.')
  if (code === 'ETIMEDOUT') {
    return phase === 'connect'
      ? new Fault('connect_timeout', 'The server did not answer.')
      : new Fault('network', 'The connection to the server timed out.')
  }
  if (code === 'ECONNRESET' || code === 'EPIPE') {
    return new Fault('closed_by_peer', 'The server reset the connection.')
  }
  return new Fault('network', `The connection failed (${code === '' ? 'unknown error' : code}).`)
}

function tlsReason(code: string): string {
  if (code === 'CERT_HAS_EXPIRED') return 'the certificate has expired'
  if (code === 'ERR_TLS_CERT_ALTNAME_INVALID') return 'the certificate belongs to another name'
  if (code.includes('SELF_SIGNED')) return 'the certificate is self-signed'
  if (code.startsWith('UNABLE_TO_')) return 'the certificate is not signed by a known authority'
  if (code === 'ERR_SSL_WRONG_VERSION_NUMBER') return 'the server does not use TLS on this port; try rtmp://'
  return `the handshake was not completed (${code})`
}

/** Makes requests and replies safe to store: secrets become `[redacted]`. */

const SECRET_NAME =
  /token|secret|password|passwd|authorization|cookie|assertion|verifier|signature|api[-_]?key|access[-_]?key|^code$|^state$|^dpop$|jwt/i
const REDACTED = '[redacted]'
/** `/bot<id>:<token>/` of Telegram, `/webhooks/<id>/<token>` of Discord, and URLs of uploads that are credentials. */
const SECRET_PATHS = [/(\/bot)[^/]+/, /(\/webhooks\/[^/]+\/)[^/?]+/]

/** A URL without user name, and with the values of secret parameters replaced. */
export function redactedUrl(text: string): string {
  const url = URL.parse(text)
  if (url === null) return '[not a URL]'
  let path = url.pathname
  for (const pattern of SECRET_PATHS) path = path.replace(pattern, `$1${REDACTED}`)
  const query = [...url.searchParams].map(
    ([name, value]) => `${encodeURIComponent(name)}=${SECRET_NAME.test(name) ? REDACTED : encodeURIComponent(value)}`,
  )
  return `${url.origin}${path}${query.length > 0 ? `?${query.join('&')}` : ''}`
}

/** Text in which each of the given secrets, also in its encoded forms, is replaced. */
export function withoutSecrets(text: string, secrets: readonly string[]): string {
  let result = text
  for (const secret of secrets) {
    if (secret.length < 6) continue
    for (const form of new Set([secret, encodeURIComponent(secret), JSON.stringify(secret).slice(1, -1)])) {
      result = result.replaceAll(form, REDACTED)
    }
  }
  return result
}

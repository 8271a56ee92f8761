/** Makes requests and replies safe to store: secrets become `[redacted]`. */

const SECRET_NAME =
  /token|secret|password|passwd|authorization|cookie|credential|assertion|verifier|signature|api[-_]?key|access[-_]?key|^code$|^state$|^sig$|^dpop$|jwt/i
const REDACTED = '[redacted]'
/** `/bot<id>:<token>/` of Telegram, `/webhooks/<id>/<token>` of Discord, and URLs of uploads that are credentials. */
const SECRET_PATHS = [/(\/bot)([^/]+)/, /(\/webhooks\/[^/]+\/)([^/?]+)/]
/** Shorter values are words rather than secrets, and their replacement would make texts unreadable. */
const SHORTEST = 6
/** How deep a JSON body is searched. */
const MAX_LEVELS = 6

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

/** The parts of a request that can contain secrets. */
interface SecretBearer {
  readonly headers?: Readonly<Record<string, string>>
  readonly json?: unknown
  readonly form?: Readonly<Record<string, string | undefined>>
  /** Forms and JSON that a library has encoded. Other bytes, and streams, are not searched. */
  readonly body?: unknown
  /** Secrets that no name reveals. */
  readonly secrets?: readonly string[]
}

/**
 * Every secret of a request, so that it can be removed from what the platform says about the request.
 * @param url with its query
 */
export function secretsOf(url: string, { body, form = {}, headers = {}, json, secrets = [] }: SecretBearer): string[] {
  const found = new Set(secrets)
  for (const [name, value] of Object.entries(headers)) {
    if (SECRET_NAME.test(name)) for (const secret of secretsOfHeader(value)) found.add(secret)
  }
  const parsed = URL.parse(url)
  if (parsed !== null) {
    for (const pattern of SECRET_PATHS) found.add(pattern.exec(parsed.pathname)?.[2] ?? '')
    for (const [name, value] of parsed.searchParams) if (SECRET_NAME.test(name)) found.add(value)
    found.add(parsed.password)
  }
  for (const [name, value] of Object.entries(form)) if (SECRET_NAME.test(name)) found.add(value ?? '')
  collect(json, found)
  collect(fieldsOf(body, headers), found)
  return [...found].filter((secret) => secret.length >= SHORTEST)
}

/** `Bearer <token>`, `Basic <user:password>`, or a value without a scheme. */
function secretsOfHeader(value: string): string[] {
  const [scheme = '', ...rest] = value.split(' ')
  const text = rest.join(' ') || scheme
  if (!/^basic$/i.test(scheme)) return [text]
  const [, ...password] = Buffer.from(text, 'base64').toString('utf8').split(':')
  return [text, password.join(':')]
}

/** The fields of an encoded body. */
function fieldsOf(body: unknown, headers: Readonly<Record<string, string>>): unknown {
  if (!(body instanceof Uint8Array)) return undefined
  const [, type = ''] = Object.entries(headers).find(([name]) => name.toLowerCase() === 'content-type') ?? []
  const text = () => Buffer.from(body).toString('utf8')
  if (type.includes('application/x-www-form-urlencoded')) return Object.fromEntries(new URLSearchParams(text()))
  try {
    return type.includes('json') ? (JSON.parse(text()) as unknown) : undefined
  } catch {
    return undefined
  }
}

function collect(json: unknown, found: Set<string>, level = 0): void {
  if (typeof json !== 'object' || json === null || level > MAX_LEVELS) return
  for (const [name, value] of Object.entries(json)) {
    if (typeof value === 'string' && SECRET_NAME.test(name)) found.add(value)
    else collect(value, found, level + 1)
  }
}

/** Text in which each of the given secrets, also in its encoded forms, is replaced. */
export function withoutSecrets(text: string, secrets: readonly string[]): string {
  let result = text
  // The longest first, because one can contain another.
  for (const secret of secrets.toSorted((one, other) => other.length - one.length)) {
    if (secret.length < SHORTEST) continue
    for (const form of new Set([secret, encodeURIComponent(secret), JSON.stringify(secret).slice(1, -1)])) {
      result = result.replaceAll(form, REDACTED)
    }
  }
  return result
}

const SECRET = /password|token|secret|api_?key|stream_?key|authorization|cookie|^otp$|^code$/i
const URL_WITH_SECRET = /\b([a-z][a-z0-9+.-]{0,30}:\/\/)[^/@:\s]*:[^/@\s]*@/gi

/** A text without the passwords in its URLs. */
export function withoutSecrets(text: string): string {
  return text.replaceAll(URL_WITH_SECRET, '$1[secret]@')
}

/** A payload that can be shown: fields that are named like secrets, and passwords in URLs, are replaced. */
export function redacted(value: unknown): unknown {
  if (typeof value === 'string') return withoutSecrets(value)
  if (Array.isArray(value)) return value.map(redacted)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value).map(([name, field]) => [name, SECRET.test(name) ? '[secret]' : redacted(field)]),
  )
}

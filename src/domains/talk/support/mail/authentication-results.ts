import { domainToASCII } from 'node:url'
import type { ParsedMail } from 'mailparser'

/**
 * Whether the mail server found that From is genuine: the topmost `Authentication-Results` field (RFC 8601) with its
 * authserv-id says `dmarc=pass` for the domain of From.
 *
 * Fields of other servers prove nothing. A mail server adds its fields at the top, so fields with its authserv-id further
 * down may have been sent with the mail. Only the topmost is read, and a field that is not well formed says nothing.
 * @param authservId of the mail server. Undefined: nothing is genuine
 */
export function isFromGenuine(mail: Headers, authservId: string | undefined): boolean {
  if (authservId === undefined) return false
  const domain = fromDomain(mail)
  if (domain === undefined) return false
  for (const { key, line } of mail.headerLines) {
    if (key !== 'authentication-results') continue
    const found = readAuthenticationResults(line.slice(line.indexOf(':') + 1))
    if (found?.authservId.toLowerCase() !== authservId.toLowerCase()) continue
    return passes(found, domain)
  }
  return false
}

/** What is read of a mail. */
type Headers = Pick<ParsedMail, 'from' | 'headerLines'>

interface Result {
  readonly method: string
  readonly result: string
  /** Properties by their lower-case name, such as `header.from`. */
  readonly properties: ReadonlyMap<string, string>
}

interface AuthenticationResults {
  readonly authservId: string
  readonly results: readonly Result[]
}

/** Mails with several authors have no DMARC domain (RFC 7489, section 6.6.1). */
function fromDomain({ from, headerLines }: Headers): string | undefined {
  const [author, ...others] = from?.value ?? []
  const isOne = others.length === 0 && headerLines.filter(({ key }) => key === 'from').length === 1
  return isOne && author?.address ? domainOf(author.address) : undefined
}

function passes({ results }: AuthenticationResults, domain: string): boolean {
  const found = results.filter(({ method }) => method === 'dmarc')
  return (
    found.length > 0 &&
    found.every(({ properties, result }) => {
      const about = properties.get('header.from')
      return result === 'pass' && (about === undefined || domainOf(about) === domain)
    })
  )
}

function domainOf(address: string): string {
  return domainToASCII(address.slice(address.lastIndexOf('@') + 1).toLowerCase())
}

/** @returns undefined for a field that does not follow RFC 8601, section 2.2 */
function readAuthenticationResults(field: string): AuthenticationResults | undefined {
  const parts = partsOf(field)
  if (parts === undefined) return undefined
  const [[id, version, ...more] = [], ...rest] = parts
  const isHead = id?.value === undefined && more.length === 0 && /^\d*$/.test(version?.name ?? '')
  return id !== undefined && isHead ? { authservId: id.name, results: rest.map(resultOf) } : undefined
}

/** A result is `method=value`, then properties such as `header.from=example.com`, and `reason=…`. */
function resultOf([first, ...others]: readonly Word[]): Result {
  // `dmarc/1=pass` names the version of the method.
  const method = (first?.name ?? '').toLowerCase().replace(/\/\d+$/, '')
  const isWhole = [first, ...others].every((word) => word?.value !== undefined && !word.isQuoted)
  const properties = new Map(others.map(({ name, value = '' }) => [name.toLowerCase(), value]))
  return { method, result: isWhole ? (first?.value ?? '').toLowerCase() : 'malformed', properties }
}

/** A name, or a name and a value with `=` between them. */
interface Word {
  name: string
  value?: string
  /** Whether its name has quoted text. */
  isQuoted: boolean
}

/**
 * The parts of a field between semicolons, as words. Comments and line breaks separate words as spaces do, and may be
 * around `=`. Quoted text is taken as it is.
 * @returns undefined if a comment or a quoted text does not end
 */
function partsOf(field: string): Word[][] | undefined {
  const parts: Word[][] = [[]]
  let word: Word | undefined
  let isSpaced = false
  let awaitsValue = false
  const add = (text: string, isQuoted: boolean) => {
    const isEqualSign = text === '=' && !isQuoted && word !== undefined && word.value === undefined
    if (word === undefined || (isSpaced && !awaitsValue && !isEqualSign)) {
      word = { name: '', isQuoted: false }
      parts.at(-1)?.push(word)
    }
    if (isEqualSign) word.value = ''
    else if (word.value !== undefined) word.value += text
    else {
      word.name += text
      word.isQuoted ||= isQuoted
    }
    isSpaced = false
    awaitsValue = isEqualSign
  }
  for (let at = 0; at < field.length;) {
    const char = field.charAt(at)
    const length = char === '(' ? commentLength(field, at) : char === '"' ? quotedLength(field, at) : 1
    if (length === 0) return undefined
    if (char === '(' || /\s/.test(char)) isSpaced = true
    else if (char === '"') add(field.slice(at + 1, at + length - 1).replaceAll(/\\(.)/gs, '$1'), true)
    else if (char === ';') {
      parts.push([])
      word = undefined
      isSpaced = false
      awaitsValue = false
    } else add(char, false)
    at += length
  }
  return parts
}

/** Comments can contain comments. @returns 0 if the comment does not end */
function commentLength(field: string, start: number): number {
  let depth = 0
  for (let at = start; at < field.length; at += 1) {
    const char = field.charAt(at)
    if (char === '\\') at += 1
    else if (char === '(') depth += 1
    else if (char === ')' && (depth -= 1) === 0) return at - start + 1
  }
  return 0
}

/** @returns 0 if the quoted text does not end */
function quotedLength(field: string, start: number): number {
  return /^"(?:[^"\\]|\\.)*"/s.exec(field.slice(start))?.[0].length ?? 0
}

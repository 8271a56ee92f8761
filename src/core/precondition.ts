import { PreconditionFailed } from './errors.ts'

/** The strong entity tags of If-Match; undefined without the header or for `*`, which match any version. */
export type IfMatch = readonly string[] | undefined

/**
 * Parses an If-Match header (RFC 9110, section 13.1.1). Tags without quotes are accepted.
 * @returns the strong tags only: If-Match compares strongly, so weak tags never match
 */
export function readIfMatch(header: string): IfMatch {
  const text = header.trim()
  if (text === '' || text === '*') return undefined
  return [...text.matchAll(/(W\/)?"([^"]*)"|([^\s,"]+)/g)].flatMap(([, weak, quoted, bare]) =>
    weak === undefined ? [quoted ?? bare ?? ''] : [],
  )
}

/**
 * Checks that a change is based on the current version.
 * @throws AppError precondition_failed
 */
export function requireVersion(ifMatch: IfMatch, version: number): void {
  if (ifMatch === undefined || ifMatch.includes(String(version))) return
  const wrong =
    ifMatch.length === 0
      ? 'If-Match has no strong entity tag.'
      : `The resource is now at version ${version}, not ${ifMatch.join(' or ')}.`
  throw PreconditionFailed({ message: `${wrong} Read the resource again and send its ETag in If-Match.` })
}

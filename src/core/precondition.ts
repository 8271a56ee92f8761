import { PreconditionFailed } from './errors.ts'

/** The strong entity tags of If-Match; undefined where any version is good: without the header, or with `*`. */
export type IfMatch = readonly string[] | undefined

/**
 * Reads an If-Match header (RFC 9110, section 13.1.1). Tags without quotes are taken as well.
 * @returns without weak tags: If-Match compares strongly, so they match nothing
 */
export function readIfMatch(header: string): IfMatch {
  const text = header.trim()
  if (text === '' || text === '*') return undefined
  return [...text.matchAll(/(W\/)?"([^"]*)"|([^\s,"]+)/g)].flatMap(([, weak, quoted, bare]) =>
    weak === undefined ? [quoted ?? bare ?? ''] : [],
  )
}

/**
 * Holds a change to a version that its caller has read.
 * @throws AppError precondition_failed
 */
export function requireVersion(ifMatch: IfMatch, version: number): void {
  if (ifMatch === undefined || ifMatch.includes(String(version))) return
  const named = ifMatch.length === 0 ? 'If-Match names no strong entity tag' : `not ${ifMatch.join(' or ')}`
  throw PreconditionFailed({ message: `The resource is at version ${version} by now, ${named}.` })
}

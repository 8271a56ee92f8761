import { readdirSync, readFileSync } from 'node:fs'
import type { OperationExample } from '../core/openapi.ts'

/** Where `npm run examples` keeps what a running server was sent and answered: a file a domain, by operation. */
export const EXAMPLES_FOLDER = new URL('../../docs/examples/', import.meta.url)

/** By operation. */
export function recordedExamples(): ReadonlyMap<string, OperationExample> {
  const files = readdirSync(EXAMPLES_FOLDER).filter((name) => name.endsWith('.json'))
  const domains = files.map(
    (name) => JSON.parse(readFileSync(new URL(name, EXAMPLES_FOLDER), 'utf8')) as Record<string, OperationExample>,
  )
  return new Map(domains.flatMap((examples) => Object.entries(examples)))
}

import { readdirSync, readFileSync } from 'node:fs'
import type { OperationExample } from '../core/openapi.ts'

/** The folder where `npm run examples` stores recorded requests and replies: one file per domain. */
export const EXAMPLES_FOLDER = new URL('../../docs/examples/', import.meta.url)

/** Recorded examples by operation. */
export function recordedExamples(): ReadonlyMap<string, OperationExample> {
  const files = readdirSync(EXAMPLES_FOLDER).filter((name) => name.endsWith('.json'))
  const domains = files.map(
    (name) => JSON.parse(readFileSync(new URL(name, EXAMPLES_FOLDER), 'utf8')) as Record<string, OperationExample>,
  )
  return new Map(domains.flatMap((examples) => Object.entries(examples)))
}

import { globSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Fixture, List, Rows } from './stage.ts'

/** Collects `test/fixtures`, one file for each domain. What they share is in `stage.ts`. */

interface Collected {
  readonly rows?: Rows
  readonly lists?: Readonly<Record<string, List>>
  readonly fixtures?: Readonly<Record<string, Fixture>>
}

const FOLDER = fileURLToPath(new URL('../fixtures', import.meta.url))

const collected = await Promise.all(
  globSync('**/*.ts', { cwd: FOLDER })
    .sort()
    .map(async (path) => (await import(join(FOLDER, path))) as Collected),
)

/** By table that operations name with `owner(table)`. */
export const rows = merged(collected.map((one) => one.rows ?? {}))

/** By operation, for those whose example needs preparation. */
export const fixtures = merged(collected.map((one) => one.fixtures ?? {}))

/** By list operation. */
export const lists = merged(collected.map((one) => one.lists ?? {}))

/** @throws when two domains have an entry of the same name */
function merged<T>(parts: readonly Readonly<Record<string, T>>[]): Readonly<Record<string, T>> {
  const found: Record<string, T> = {}
  for (const [name, value] of parts.flatMap((part) => Object.entries(part))) {
    if (name in found) throw new Error(`two domains have a fixture ${name}`)
    found[name] = value
  }
  return found
}

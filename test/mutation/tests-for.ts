import { readFileSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path'
import { parseSync } from 'oxc-parser'

/** A unit test counts as a test of a file if it is at most this many imports away. */
const NEAR = 4
/** Maximum number of unit tests for one mutant, the nearest first. */
const MAX = 12

/** Slow unit tests, which run last. */
const SLOW: ReadonlySet<string> = new Set(['src/jobs/jobs.test.ts', 'actors/simulation/simulation.test.ts'])

/**
 * Tests of the whole service that cover a folder. Imports cannot select them, because nearly all of them import
 * nearly every file.
 */
const API_TESTS: Readonly<Record<string, readonly string[]>> = {
  'src/core': [
    '../generated-files',
    'contract',
    'openapi',
    'asyncapi',
    'pipeline-http',
    'pipeline-order',
    'pipeline-limits',
    'lists',
    'guarded',
    'bounds',
  ],
  'src/tools': ['contract', 'pipeline-http', 'lists', 'guarded', 'bounds'],
  'src/http': [
    '../generated-files',
    'pipeline-http',
    'pipeline-order',
    'pipeline-limits',
    'pipeline-idempotency',
    'pipeline-files',
    'hostile-http',
    'realtime-calls',
    'uploads',
    'admin',
    'guarded',
    'bounds',
  ],
  'src/turns': ['workspaces', 'workspaces-log', 'workspaces-nodes', 'team-roles', 'pipeline-idempotency'],
  'src/jobs': ['../generated-files', 'contract', 'queue'],
  actors: ['workspaces-nodes', 'chat-nodes'],
  'src/domains/talk/chat': [
    '../generated-files',
    'contract',
    'asyncapi',
    'chat-channels',
    'chat-messages',
    'chat-sync',
    'chat-attachments',
    'chat-nodes',
    'realtime',
    'realtime-presence',
    'realtime-audiences',
    'existence',
    'edit-back',
  ],
}

/** The folders that are mutated. */
export const FOLDERS = Object.keys(API_TESTS)

/** The folder of `FOLDERS` that a file is in. */
export function folderOf(file: string): string {
  return FOLDERS.find((folder) => file.startsWith(`${folder}/`)) ?? ''
}

/** Chooses the tests of a file: unit tests by their imports, tests of the API by the file's folder. */
export class TestChooser {
  readonly #root: string
  readonly #files: ReadonlySet<string>
  /** The files that each unit test imports, directly or indirectly: file → number of imports in between. */
  readonly #reached = new Map<string, ReadonlyMap<string, number>>()
  readonly #imports = new Map<string, readonly string[]>()

  constructor(root: string, files: readonly string[]) {
    this.#root = root
    this.#files = new Set(files)
    const units = files.filter((file) => /^(src|actors)\/.*\.test\.ts$/.test(file))
    for (const test of units) this.#reached.set(test, this.#reach(test))
  }

  /**
   * @param onlyNear selects only unit tests that import the file, or a file that imports it
   * @returns groups of test files; a later group is run only when the earlier ones pass
   */
  choose(file: string, onlyNear: boolean): readonly (readonly string[])[] {
    // A test beside the file counts even if it does not import the file, because it may run the file in a child process.
    const beside = file.replace(/\.ts$/, '.test.ts')
    const near = [...this.#reached]
      .map(([test, reached]) => ({ test, distance: test === beside ? 1 : (reached.get(file) ?? Infinity) }))
      .filter(({ distance }) => distance <= NEAR)
      .toSorted((a, b) => a.distance - b.distance || a.test.localeCompare(b.test))
      .slice(0, MAX)
    const slow = near.filter(({ test }) => SLOW.has(test)).map(({ test }) => test)
    const quick = near.filter(({ test }) => !SLOW.has(test))
    const closest = quick.filter(({ distance }) => distance === 1).map(({ test }) => test)
    const others = quick.filter(({ distance }) => distance > 1).map(({ test }) => test)
    if (onlyNear) return [quick.filter(({ distance }) => distance <= 2).map(({ test }) => test)]
    const api = (API_TESTS[folderOf(file)] ?? []).map((name) => normalize(`test/api/${name}.test.ts`))
    return [closest, others, api, slow].filter((group) => group.length > 0)
  }

  #reach(test: string): Map<string, number> {
    const reached = new Map([[test, 0]])
    for (const [file, distance] of reached) {
      if (distance === NEAR) continue
      for (const next of this.#importsOf(file)) if (!reached.has(next)) reached.set(next, distance + 1)
    }
    return reached
  }

  #importsOf(file: string): readonly string[] {
    const known = this.#imports.get(file)
    if (known !== undefined) return known
    const { module } = parseSync(file, readFileSync(join(this.#root, file), 'utf8'))
    const specifiers = [
      ...module.staticImports
        .filter(({ entries }) => entries.length === 0 || entries.some(({ isType }) => !isType))
        .map(({ moduleRequest }) => moduleRequest.value),
      ...module.staticExports.flatMap(({ entries }) =>
        entries.flatMap(({ moduleRequest, isType }) => (moduleRequest && !isType ? [moduleRequest.value] : [])),
      ),
    ]
    const found = specifiers
      .filter((specifier) => specifier.startsWith('.'))
      .map((specifier) => normalize(join(dirname(file), specifier)))
      .filter((path) => this.#files.has(path))
    this.#imports.set(file, found)
    return found
  }
}

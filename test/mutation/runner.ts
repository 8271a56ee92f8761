/**
 * Runs tests for `main.ts` in a separate process, which can be killed if a mutant loops forever. Vitest and the PostgreSQL
 * of the tests stay loaded between mutants.
 */
import { resolve } from 'node:path'
import { createVitest, type TestModule } from 'vitest/node'

/** The changed files, and groups of tests. A group runs if the groups before it have passed. */
export interface RunRequest {
  readonly changed: readonly string[]
  readonly groups: readonly (readonly string[])[]
}

/** The first test file that failed; undefined when all passed. */
export interface RunReply {
  readonly failed: string | undefined
  /** The message of its first error. */
  readonly why?: string
  /** Why the tests could not be run. The mutant is then neither killed nor survived. */
  readonly broken?: string
}

const vitest = await createVitest('test', {
  watch: false,
  bail: 1,
  project: ['unit', 'alone', 'api'],
  reporters: [{}],
  silent: true,
})

// Fewer simulated runs of the actors. Set after the start, because the configuration would otherwise leave out files.
process.env['QUICK'] = '1'

async function run({ changed, groups }: RunRequest): Promise<RunReply> {
  for (const file of changed) invalidate(resolve(file))
  for (const group of groups) {
    if (group.length === 0) continue
    const specifications = await vitest.globTestSpecifications([...group])
    const found = new Set(specifications.map(({ moduleId }) => moduleId))
    const missing = group.filter((file) => !found.has(resolve(file)))
    if (missing.length > 0) throw new Error(`no project of vitest runs ${missing.join(', ')}`)
    const { testModules, unhandledErrors } = await vitest.runTestSpecifications(specifications)
    // Vitest also returns the modules of earlier runs, with their results.
    const bad = testModules.find((module) => found.has(module.moduleId) && !module.ok())
    if (bad !== undefined) return { failed: bad.relativeModuleId, why: whyFailed(bad) }
    if (unhandledErrors.length > 0) return { failed: 'an error outside of tests' }
  }
  return { failed: undefined }
}

/**
 * Reloads a file, but not its importers. Vite would invalidate them too, and then sometimes fails to load one of them when
 * two tests request it at once.
 */
function invalidate(file: string): void {
  const modules = vitest.projects
    .flatMap(({ vite }) => Object.values(vite.environments))
    .flatMap(({ moduleGraph }) => [...(moduleGraph.getModulesByFile(file) ?? [])])
  const importers = modules.map((module) => module.importers)
  for (const module of modules) module.importers = new Set()
  vitest.invalidateFile(file)
  for (const [index, module] of modules.entries()) module.importers = importers[index] ?? new Set()
}

function whyFailed(module: TestModule): string {
  const [test] = module.children.allTests('failed')
  const [error] = test?.result().errors ?? module.errors()
  return `${test?.fullName ?? ''}: ${error?.message ?? ''}`.replaceAll(/\s+/g, ' ').slice(0, 300)
}

process.on('message', (request: RunRequest) => {
  void run(request)
    .catch((error: unknown): RunReply => ({ failed: undefined, broken: String(error) }))
    .then((reply) => process.send?.(reply))
})
process.on('disconnect', () => void vitest.close().finally(() => process.exit()))
process.send?.('ready')

/**
 * Runs tests on request of `main.ts`, in a process of its own that can be killed when a mutant never ends. Vitest stays
 * loaded between mutants, and so does the PostgreSQL of the tests.
 */
import { resolve } from 'node:path'
import { createVitest, type TestModule } from 'vitest/node'

/** A file that has changed, and groups of tests; a group is run when those before it pass. */
export interface RunRequest {
  readonly changed: readonly string[]
  readonly groups: readonly (readonly string[])[]
}

/** The first test file that failed; undefined when all passed. */
export interface RunReply {
  readonly failed: string | undefined
  /** The message of its first error. */
  readonly why?: string
}

const vitest = await createVitest('test', {
  watch: false,
  bail: 1,
  project: ['unit', 'api'],
  reporters: [{}],
  silent: true,
})

// Fewer simulated runs of the actors. Set now, because the configuration leaves out files when it is set at the start.
process.env['QUICK'] = '1'

async function run({ changed, groups }: RunRequest): Promise<RunReply> {
  for (const file of changed) invalidate(resolve(file))
  for (const group of groups) {
    if (group.length === 0) continue
    const specifications = await vitest.globTestSpecifications([...group])
    if (specifications.length === 0) throw new Error(`no test is called ${group.join(', ')}`)
    const { testModules, unhandledErrors } = await vitest.runTestSpecifications(specifications)
    // Vitest returns the modules of earlier runs too, with what became of them then.
    const asked = new Set(specifications.map(({ moduleId }) => moduleId))
    const bad = testModules.find((module) => asked.has(module.moduleId) && !module.ok())
    if (bad !== undefined) return { failed: bad.relativeModuleId, why: whyFailed(bad) }
    if (unhandledErrors.length > 0) return { failed: 'an error outside of tests' }
  }
  return { failed: undefined }
}

/**
 * Has a file read again. Its importers need not be: Vite would mark them as well, and sometimes fails to load one of them
 * afterwards, when two tests ask for it at once.
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
  void run(request).then((reply) => process.send?.(reply))
})
process.on('disconnect', () => void vitest.close().finally(() => process.exit()))
process.send?.('ready')

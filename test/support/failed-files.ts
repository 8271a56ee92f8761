import { writeFileSync } from 'node:fs'
import type { Reporter, TestModule } from 'vitest/node'

/** The result that a run writes for `run.ts`, to the file that FAILED_FILES names. */
export interface Failures {
  /** Paths from the root of the repository. */
  readonly files: readonly string[]
  /** Errors outside of test files. Running files again cannot show that these are fixed. */
  readonly others: readonly string[]
}

/** A reporter that lists the files in which a test or anything else failed. */
export default class FailedFiles implements Reporter {
  onTestRunEnd: NonNullable<Reporter['onTestRunEnd']> = (modules, errors) => {
    const path = process.env['FAILED_FILES']
    if (path === undefined) return
    const byId = new Map(modules.map((module) => [module.moduleId, module]))
    const failed = new Set<TestModule>(modules.filter((module) => !module.ok()))
    const others: string[] = []
    for (const { VITEST_TEST_PATH: id, message } of errors as { VITEST_TEST_PATH?: string; message: string }[]) {
      const module = id === undefined ? undefined : byId.get(id)
      if (module === undefined) others.push(message)
      else failed.add(module)
    }
    const failures: Failures = { files: [...failed].map(({ relativeModuleId }) => relativeModuleId), others }
    writeFileSync(path, JSON.stringify(failures))
  }
}

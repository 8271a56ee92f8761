import { configDefaults, defineConfig } from 'vitest/config'

/** Tests of real servers, databases and processes, on machines that are busy. */
const PATIENCE = { testTimeout: 30_000, hookTimeout: 120_000, teardownTimeout: 20_000 }

function project(name: string, include: string[], options: object = {}) {
  return { extends: true as const, test: { name, include, ...PATIENCE, ...options } }
}

export default defineConfig({
  test: {
    // A process a file: native parts (uWebSockets.js, argon2) and process-wide state never meet those of another file.
    pool: 'forks',
    isolate: true,
    globalSetup: ['test/support/global-setup.ts'],
    exclude: [...configDefaults.exclude, 'data/**'],
    reporters: ['default'],
    projects: [
      project('unit', [
        'src/**/*.test.ts',
        'actors/**/*.test.ts',
        'media/**/*.test.ts',
        'test/*.test.ts',
        'test/support/**/*.test.ts',
      ]),
      project('api', ['test/api/**/*.test.ts']),
      project('media', ['test/media/**/*.test.ts'], { testTimeout: 120_000 }),
      project('flows', ['test/flows/**/*.test.ts'], { testTimeout: 300_000, fileParallelism: false }),
      // Whole processes are killed, stopped and cut off here: a second chance for what the machine itself does to one.
      project('faults', ['test/faults/**/*.test.ts'], { testTimeout: 300_000, fileParallelism: false, retry: 1 }),
    ],
  },
})

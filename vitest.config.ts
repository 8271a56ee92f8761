import { availableParallelism } from 'node:os'
import { delimiter, join } from 'node:path'
import { configDefaults, defineConfig } from 'vitest/config'
import { Sequencer } from './test/support/sequencer.ts'
import { CACHE } from './test/support/tools.ts'

/**
 * Tests and the service run as Node runs them, without vite: to import the whole service takes a worker 4 s instead of 10.
 * Node keeps what it has compiled, for other workers and for the processes that tests start.
 */
const NATIVE = { experimental: { viteModuleRunner: false } }
/** For files that replace a module of an npm package by `vi.mock`, which only vite can do. */
const BY_VITE = { experimental: { viteModuleRunner: true } }
process.env['NODE_COMPILE_CACHE'] ??= join(import.meta.dirname, 'node_modules/.cache/node-compile')

/** Programs that `test/support/provide.ts` could only unpack are found like installed ones, which come first. */
process.env['PATH'] = [process.env['PATH'], join(CACHE, 'bin')].join(delimiter)

/**
 * Tests of real servers, databases and processes, on machines that are busy. Longer than a test waits for a condition
 * (`test/support/wait.ts`), whose message says more than that of a test that took too long.
 */
const PATIENCE = { testTimeout: 120_000, hookTimeout: 180_000, teardownTimeout: 60_000 }

/** Files that compute, and sometimes wait: one more at a time than there are processors, if there are only two. */
const COMPUTING = { maxWorkers: Math.max(3, availableParallelism() - 1), sequence: { groupOrder: 0 } }

/** Files that end real processes and wait for their leases to expire: they use about half of a processor. */
const WAITING = { maxWorkers: Math.max(4, availableParallelism()), sequence: { groupOrder: 1 } }

/**
 * Files that wait for streams, which run in real time: they use 25 to 45 % of a processor. They run after the others,
 * because encoders and browsers need their share of the processors at the right moment.
 */
const REAL_TIME = { maxWorkers: Math.max(5, availableParallelism()), sequence: { groupOrder: 2 } }

/**
 * A second chance for what the machine itself does to real processes; the report names every test that took it. Tests of the
 * service have none here, because they share a database: `npm test` runs the whole file again (`test/support/run.ts`).
 */
const SECOND_CHANCE = { retry: 1 }

/**
 * One process for the files of a lane, one after the other: to import the whole service takes longer than most files.
 * Its tests stop what they start, and replace no modules.
 */
const IN_ONE_PROCESS = { isolate: false }

/** Unit tests that replace modules, or that count the timers or rows of a process, have a process each. */
const ALONE = [
  'src/core/fair-gate.test.ts',
  'src/core/log-writer-flush.test.ts',
  'src/domains/identity/auth/passwords.test.ts',
  'src/http/transfers.test.ts',
  'src/jobs/dispatcher.test.ts',
  'src/jobs/stop.test.ts',
  'src/turns/announcements.test.ts',
]

/** Tests of the media process that replace functions of their process, or measure its memory. */
const MEDIA_ALONE = [
  'media/ingest/hostile-peers.test.ts',
  'media/ingest/real-publisher.test.ts',
  'media/recording/recorder.test.ts',
  'media/whip/transcode/transcoder.test.ts',
]

/** `npm run test:twice` repeats every test on what its first attempt left, as a second chance does. */
const TWICE = process.env['TWICE'] === undefined ? {} : { ...SECOND_CHANCE, setupFiles: ['test/support/twice.ts'] }

function project(name: string, include: string[], options: object = {}) {
  return { extends: true as const, test: { name, include, ...PATIENCE, ...options, ...TWICE } }
}

/** The longest unit tests, which mutation tests and `npm run test:quick` leave out. */
const LONG = [
  // Both stores of jobs, with real workers.
  'src/jobs/jobs.test.ts',
  // Renders every template.
  'src/domains/media/studio/templates/templates.test.ts',
  // Lays out every template in every format.
  'src/domains/media/studio/templates/layout.test.ts',
  // Starts and stops many servers.
  'src/setup/embedded-postgres.test.ts',
]
/** Unit tests that take seconds each, which mutation tests need and `npm run test:quick` leaves out. */
const SLOW = [
  // Generate cases.
  'actors/simulation/simulation.test.ts',
  'src/domains/publishing/analytics/best-times/slots.test.ts',
  'src/domains/publishing/calendar/recurrence/recurrence-properties.test.ts',
  'src/platforms/agreement.test.ts',
  // Waits for retries.
  'src/jobs/holding.test.ts',
]
const { INNER_LOOP, QUICK } = process.env
const EXCLUDED = [
  ...configDefaults.exclude,
  'data/**',
  ...(QUICK === undefined ? [] : LONG),
  ...(INNER_LOOP === undefined ? [] : SLOW),
]

export default defineConfig({
  test: {
    // A process a file, unless a project says otherwise: process-wide state, such as memory that is measured, is its own.
    pool: 'forks',
    isolate: true,
    globalSetup: ['test/support/global-setup.ts'],
    sequence: { sequencer: Sequencer },
    exclude: EXCLUDED,
    reporters: ['default'],
    expect: { poll: { timeout: 60_000 } },
    ...NATIVE,
    projects: [
      project(
        'unit',
        [
          'src/**/*.test.ts',
          'actors/**/*.test.ts',
          'sandbox/**/*.test.ts',
          'test/*.test.ts',
          'test/support/**/*.test.ts',
        ],
        {
          ...COMPUTING,
          ...IN_ONE_PROCESS,
          exclude: [...EXCLUDED, ...ALONE],
        },
      ),
      project('alone', ALONE, { ...COMPUTING, ...BY_VITE }),
      project('api', ['test/api/**/*.test.ts'], { ...COMPUTING, ...IN_ONE_PROCESS }),
      project('faults', ['test/faults/**/*.test.ts'], { ...WAITING, ...SECOND_CHANCE, testTimeout: 300_000 }),
      project('media', ['media/**/*.test.ts'], {
        ...REAL_TIME,
        ...SECOND_CHANCE,
        ...IN_ONE_PROCESS,
        testTimeout: 120_000,
        exclude: [...EXCLUDED, ...MEDIA_ALONE],
      }),
      project('live', ['test/media/**/*.test.ts', ...MEDIA_ALONE], {
        ...REAL_TIME,
        ...SECOND_CHANCE,
        testTimeout: 120_000,
      }),
      project('flows', ['test/flows/**/*.test.ts'], { ...REAL_TIME, ...SECOND_CHANCE, testTimeout: 300_000 }),
    ],
  },
})

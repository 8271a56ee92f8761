import { spawn, type ChildProcess } from 'node:child_process'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { JobDeclaration } from '../../src/core/job.ts'
import type { StoreChoice } from '../../src/jobs/stores.ts'
import { startJobNode, type JobNode } from '../support/jobs.ts'
import { waitFor } from '../support/wait.ts'
import { trialJobs, type WorkerSettings } from './jobs-worker-settings.ts'

export interface TrialOptions {
  readonly databaseUrl: string
  readonly store: StoreChoice
  readonly jobs: number
  readonly workers: number
  readonly times: WorkerSettings['times']
  readonly crashes: WorkerSettings['crashes']
  readonly onceFolder?: string
  /** Causes faults in the databases while the workers run. The trial waits for it before it waits for the jobs. */
  readonly meanwhile: (trial: { readonly killOne: () => void }) => Promise<void>
  readonly timeoutMs: number
}

export interface TrialReport {
  readonly seconds: number
  readonly kills: number
  readonly crashes: Readonly<Record<string, number>>
  /** Jobs that are neither done nor dead. */
  readonly lost: number
  readonly done: number
  readonly dead: number
  readonly deadWithoutReason: number
  /** Attempts beyond the first of each job. */
  readonly repeated: number
  /** Effects that happened twice, and finished jobs without their effect. */
  readonly doubled: number
  readonly missing: number
}

const WORKER = fileURLToPath(new URL('jobs-worker.ts', import.meta.url))

/** Adds jobs in transactions, kills the worker processes, and counts the results. */
export async function jobsTrial(options: TrialOptions): Promise<TrialReport> {
  const { databaseUrl, store, timeoutMs } = options
  const startedAt = performance.now()
  const declared = trialJobs(() => undefined)
  const adder = await startJobNode({ databaseUrl, store, jobs: declared, idle: true })
  await adder.database.run('create table effects (n integer)')
  const workers = new Workers(options)
  try {
    await workers.start()
    const meanwhile = options.meanwhile({ killOne: () => workers.killOne() })
    await addAll(adder, declared as JobDeclaration<never>[], options.jobs)
    await meanwhile
    await waitFor(() => isOver(adder), { timeoutMs, what: 'every job to be done or dead' }).catch(() => undefined)
    await workers.stop()
    return {
      seconds: (performance.now() - startedAt) / 1_000,
      ...workers.counts(),
      ...(await count(adder, options.jobs)),
    }
  } finally {
    await workers.stop()
    await adder.stop()
  }
}

class Workers {
  readonly #options: TrialOptions
  readonly #running = new Set<ChildProcess>()
  readonly #crashes: Record<string, number> = {}
  #kills = 0
  #stopping = false

  constructor(options: TrialOptions) {
    this.#options = options
  }

  async start(): Promise<void> {
    for (let index = 0; index < this.#options.workers; index += 1) this.#spawn()
    await waitFor(() => this.#running.size === this.#options.workers)
  }

  killOne(): void {
    const [victim] = [...this.#running].toSorted(() => Math.random() - 0.5)
    if (victim?.kill('SIGKILL')) this.#kills += 1
  }

  counts() {
    return { kills: this.#kills, crashes: this.#crashes }
  }

  async stop(): Promise<void> {
    this.#stopping = true
    for (const child of this.#running) child.kill('SIGTERM')
    await waitFor(() => this.#running.size === 0, { what: 'the workers to end' })
  }

  #spawn(): void {
    const { databaseUrl, crashes, onceFolder, store, times } = this.#options
    const settings: WorkerSettings = {
      databaseUrl,
      store,
      times,
      crashes,
      ...(onceFolder !== undefined && { onceFolder }),
    }
    const child = spawn(process.execPath, [WORKER], {
      env: {
        PATH: process.env['PATH'] ?? '',
        NODE_COMPILE_CACHE: join(tmpdir(), 'crier-compile-cache'),
        WORKER_SETTINGS: JSON.stringify(settings),
      },
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    this.#running.add(child)
    child.stdout?.on('data', (bytes: Buffer) => {
      for (const [, step = ''] of bytes.toString().matchAll(/^crashed (.+)$/gm)) {
        this.#crashes[step] = (this.#crashes[step] ?? 0) + 1
      }
    })
    child.once('close', () => {
      this.#running.delete(child)
      if (!this.#stopping) this.#spawn()
    })
  }
}

async function addAll(node: JobNode, declared: readonly JobDeclaration<never>[], count: number): Promise<void> {
  const [effect, plain] = declared as [JobDeclaration<never>, JobDeclaration<never>]
  for (let first = 0; first < count; first += 100) {
    const add = () =>
      node.database.transaction(async (tx) => {
        for (let n = first; n < Math.min(first + 100, count); n += 1) {
          await node.jobs.add(tx, n % 2 === 0 || n % 100 === 99 ? effect : plain, { n } as never)
        }
      })
    // While PostgreSQL is unavailable, a transaction may commit without an acknowledgement. So a retry checks first.
    await waitFor(
      async () => {
        const there = await node.database.row(FIND_COMMITTED, [first])
        if (there === undefined) await add()
        return true
      },
      { what: 'jobs to be added' },
    )
  }
}

/** Finds a committed job: in the outbox, or by its effect. */
const FIND_COMMITTED = `select 1 from (select id from outbox where (data->>'n')::int = $1 union all
  select id from finished_jobs where name = 'trial.effect' and exists (select 1 from effects where n = $1)) as seen limit 1`

async function isOver({ database }: JobNode): Promise<boolean> {
  const row = await database.row<{ left: number }>(`select count(*) as left from outbox where state <> 'dead'`)
  return row?.left === 0
}

async function count({ database }: JobNode, jobs: number) {
  const row = await database.row<
    Record<'done' | 'dead' | 'unexplained' | 'repeated' | 'doubled' | 'effects' | 'effective', number>
  >(
    `select (select count(*) from finished_jobs) as done,
       (select count(*) from outbox where state = 'dead') as dead,
       (select count(*) from outbox where state = 'dead' and coalesce(reason, '') = '') as unexplained,
       (select coalesce(sum(attempts - 1), 0) from finished_jobs) as repeated,
       (select count(*) from (select n from effects group by n having count(*) > 1) twice) as doubled,
       (select count(distinct n) from effects) as effects,
       (select count(*) from finished_jobs where name = 'trial.effect') as effective`,
  )
  const { done = 0, dead = 0, unexplained = 0, repeated = 0, doubled = 0, effects = 0, effective = 0 } = row ?? {}
  return {
    done,
    dead,
    deadWithoutReason: unexplained,
    repeated,
    doubled,
    missing: effective - effects,
    lost: jobs - done - dead,
  }
}

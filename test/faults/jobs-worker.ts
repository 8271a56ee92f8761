/**
 * A process that runs jobs and kills itself with SIGKILL at steps where a job could be lost. Its parent, jobs-trial.ts,
 * sets the probabilities.
 */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Backend } from '../../src/jobs/backend.ts'
import { Outbox } from '../../src/jobs/outbox.ts'
import { startJobNode } from '../support/jobs.ts'
import { trialJobs, type Step, type WorkerSettings } from './jobs-worker-settings.ts'

const settings = JSON.parse(process.env['WORKER_SETTINGS'] ?? '{}') as WorkerSettings

function crash(step: Step): void {
  if (Math.random() >= (settings.crashes[step] ?? 0)) return
  if (settings.onceFolder !== undefined && !isFirst(join(settings.onceFolder, step))) return
  process.stdout.write(`crashed ${step}\n`)
  process.kill(process.pid, 'SIGKILL')
}

function isFirst(path: string): boolean {
  try {
    writeFileSync(path, '', { flag: 'wx' })
    return true
  } catch {
    return false
  }
}

// oxlint-disable typescript/unbound-method -- the methods are replaced on the same prototypes
const { add } = Backend.prototype
Backend.prototype.add = async function (...args) {
  crash('claimed')
  await add.apply(this, args)
  crash('added')
}
const { finish } = Outbox.prototype
Outbox.prototype.finish = async function (...args) {
  crash('ran')
  const done = await finish.apply(this, args)
  crash('finished')
  return done
}

// oxlint-enable typescript/unbound-method

const node = await startJobNode({
  databaseUrl: settings.databaseUrl,
  store: settings.store,
  jobs: trialJobs(crash),
  times: settings.times,
  services: {},
})
process.on('SIGTERM', () => {
  void node.stop().then(() => process.exit(0))
})
process.stdout.write('ready\n')

/**
 * A process that runs jobs and kills itself with SIGKILL at steps where something could be lost, with a probability that
 * its parent sets. Started by jobs-trial.ts.
 */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Backend } from '../../src/jobs/backend.ts'
import { Outbox } from '../../src/jobs/outbox.ts'
import { startJobNode } from '../support/jobs.ts'
import { trialJobs, type Step, type WorkerOrder } from './jobs-orders.ts'

const order = JSON.parse(process.env['ORDER'] ?? '{}') as WorkerOrder

function die(step: Step): void {
  if (Math.random() >= (order.deaths[step] ?? 0)) return
  if (order.once !== undefined && !isFirst(join(order.once, step))) return
  process.stdout.write(`died ${step}\n`)
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
  die('claimed')
  await add.apply(this, args)
  die('added')
}
const { finish } = Outbox.prototype
Outbox.prototype.finish = async function (...args) {
  die('ran')
  const done = await finish.apply(this, args)
  die('finished')
  return done
}

// oxlint-enable typescript/unbound-method

const node = await startJobNode({
  databaseUrl: order.databaseUrl,
  store: order.store,
  jobs: trialJobs(die),
  times: order.times,
  services: {},
})
process.on('SIGTERM', () => {
  void node.stop().then(() => process.exit(0))
})
process.stdout.write('ready\n')

import { violationsOf } from './checks.ts'
import { healAll, planFaults } from './faults.ts'
import { World, type Operation, type Result, type WorldOptions } from './world.ts'

export interface Report {
  readonly seed: number
  readonly violations: readonly string[]
  /** A hash of all steps. It is the same for every run of a seed. */
  readonly digest: string
  readonly events: number
  readonly results: Readonly<Partial<Record<Result | 'pending', number>>>
  /** Milliseconds from the end of the faults until every node could reach every actor. */
  readonly recoveredMs: number
  readonly trace: readonly string[]
}

const FAULTS_FROM = 800
const LOAD_UNTIL = 9_000
const QUIET_FROM = 9_500
/** Covers a session whose node has died, the longest possible quarantine, and the pauses between attempts. */
const RECOVERED_WITHIN = 20_000

/** Runs one seed: some seconds of load and faults, then a quiet period in which everything must recover. */
export async function simulate(seed: number, options: WorldOptions = {}): Promise<Report> {
  const world = new World(seed, options)
  const { random, scheduler } = world
  const actors = Array.from({ length: random.integer(1, 3) }, (_, index) => `actor${index}`)
  planFaults(world, FAULTS_FROM, LOAD_UNTIL)
  planLoad(world, actors)
  scheduler.at(QUIET_FROM, () => healAll(world))
  await scheduler.run(QUIET_FROM)
  // Waits until paused nodes have resumed.
  await scheduler.run(QUIET_FROM + 30_000, () =>
    world.slots.every((slot) => slot.actors !== undefined && !slot.process.paused),
  )
  const quietSince = scheduler.now
  const reached = probeAll(world, actors)
  const settled = () =>
    world.operations.every((operation) => operation.result !== undefined || operation.process.crashed)
  await scheduler.run(quietSince + RECOVERED_WITHIN, () => reached() && settled())
  const recoveredMs = scheduler.now - quietSince
  const violations = violationsOf(world)
  if (!reached()) violations.push(`not every node reached every actor within ${RECOVERED_WITHIN} ms`)
  const results: Partial<Record<Result | 'pending', number>> = {}
  for (const { result = 'pending' } of world.operations) results[result] = (results[result] ?? 0) + 1
  return {
    seed,
    violations,
    digest: world.digest(),
    events: scheduler.events,
    results,
    recoveredMs,
    trace: world.lines,
  }
}

/** Bursts of commands from clients of all nodes. */
function planLoad(world: World, actors: readonly string[]): void {
  const { random, scheduler } = world
  for (let at = random.between(50, 200); at < LOAD_UNTIL; at += random.between(50, 900)) {
    const size = random.chance(0.2) ? random.integer(3, 12) : random.integer(1, 2)
    // All commands go from one node to one actor, which exceeds small limits.
    const storm = size > 2 && random.chance(0.5)
    scheduler.at(at, () => {
      let [from, to] = [random.pick(world.slots), random.pick(actors)]
      for (let index = 0; index < size; index += 1) {
        const kind = random.chance(0.06) ? 'refuse' : random.chance(0.04) ? 'poison' : 'append'
        world.send(from, to, kind, random.between(200, 6_000))
        if (!storm) [from, to] = [random.pick(world.slots), random.pick(actors)]
      }
    })
  }
}

/**
 * Sends a command from every node to every actor, again after each refusal. @returns a check whether all were
 * acknowledged
 */
function probeAll(world: World, actors: readonly string[]): () => boolean {
  const missing = new Set<string>()
  for (const slot of world.slots) {
    for (const actor of actors) {
      const name = `${slot.name} ${actor}`
      missing.add(name)
      let last: Operation | undefined
      const attempt = (): void => {
        if (last?.result === 'acknowledged') missing.delete(name)
        else {
          if (last === undefined || last.result !== undefined) last = world.send(slot, actor, 'append', 4_000)
          world.scheduler.after(100, attempt)
        }
      }
      attempt()
    }
  }
  return () => missing.size === 0
}
